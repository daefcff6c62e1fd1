import { ArgsType, Field, Int } from '@nestjs/graphql';

/** Which part of a list is asked for. */
@ArgsType()
export class PageArgs {
  @Field(() => Int, {
    nullable: true,
    description: 'How many entries from the beginning, or after `after`: 1 to 100, 20 by default.',
  })
  first?: number | null;

  @Field(() => String, { nullable: true, description: 'A cursor of this list: the page begins after it.' })
  after?: string | null;

  @Field(() => Int, {
    nullable: true,
    description: 'How many entries from the end, or before `before`: 1 to 100. Not together with `first`.',
  })
  last?: number | null;

  @Field(() => String, {
    nullable: true,
    description: 'A cursor of this list: the page ends before it. Goes with `last`.',
  })
  before?: string | null;
}

/** A page of a list that is read forwards only. */
@ArgsType()
export class ForwardPageArgs {
  @Field(() => Int, {
    nullable: true,
    description: 'How many entries from the beginning, or after `after`: 1 to 100, 20 by default.',
  })
  first?: number | null;

  @Field(() => String, { nullable: true, description: 'A cursor of this list: the page begins after it.' })
  after?: string | null;
}
