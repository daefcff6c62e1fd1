import { ArgsType, Field, Int } from '@nestjs/graphql';

/** The page arguments of a list. */
@ArgsType()
export class PageArgs {
  @Field(() => Int, {
    nullable: true,
    description: 'How many entries from the beginning or after `after`: 1 to 100, by default 20.',
  })
  first?: number | null;

  @Field(() => String, { nullable: true, description: 'A cursor of this list. The page begins after it.' })
  after?: string | null;

  @Field(() => Int, {
    nullable: true,
    description: 'How many entries from the end or before `before`: 1 to 100. Cannot be combined with `first`.',
  })
  last?: number | null;

  @Field(() => String, {
    nullable: true,
    description: 'A cursor of this list. The page ends before it. Use it with `last`.',
  })
  before?: string | null;
}

/** The page arguments of a forward-only list. */
@ArgsType()
export class ForwardPageArgs {
  @Field(() => Int, {
    nullable: true,
    description: 'How many entries from the beginning or after `after`: 1 to 100, by default 20.',
  })
  first?: number | null;

  @Field(() => String, { nullable: true, description: 'A cursor of this list. The page begins after it.' })
  after?: string | null;
}
