import { ArgsType, Field, ID, InputType } from '@nestjs/graphql';

import { PageArgs } from '#platform/api';

/** Filters of a list of threads. */
@InputType({ description: 'Filters for threads. All given fields must match.' })
export class ThreadFilterInput {
  @Field(() => ID, { nullable: true, description: 'Created by this user.' })
  createdBy?: string | null;
}

/** Arguments of `threads`. */
@ArgsType()
export class ThreadsArgs extends PageArgs {
  @Field(() => ThreadFilterInput, {
    nullable: true,
    description: 'Filters. Absent: all threads that the caller may see.',
  })
  filter?: ThreadFilterInput | null;
}

/** Arguments of `messages`. */
@ArgsType()
export class MessagesArgs extends PageArgs {
  @Field(() => ID, { description: "The thread: server id, or the client's own id." })
  threadId!: string;
}
