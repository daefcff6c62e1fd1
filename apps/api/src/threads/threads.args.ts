import { ArgsType, Field, ID, InputType } from '@nestjs/graphql';

import { PageArgs } from '../graphql/connections/page.args.js';

/** Which threads. */
@InputType({ description: 'Which threads a list shows; every member narrows it.' })
export class ThreadFilterInput {
  @Field(() => ID, { nullable: true, description: 'Begun by this user.' })
  createdBy?: string | null;
}

/** Arguments of `threads`. */
@ArgsType()
export class ThreadsArgs extends PageArgs {
  @Field(() => ThreadFilterInput, { nullable: true, description: 'Which threads; absent: all that one may see.' })
  filter?: ThreadFilterInput | null;
}

/** Arguments of `messages`. */
@ArgsType()
export class MessagesArgs extends PageArgs {
  @Field(() => ID, { description: "The thread: our id, or the client's own." })
  threadId!: string;
}
