import { Field, ID, InputType } from '@nestjs/graphql';

import { payloadOf } from '#platform/api';

import { ThreadModel } from './thread.model.js';

@InputType({ description: 'A thread to create without a message.' })
export class CreateThreadInput {
  @Field(() => String, { nullable: true, description: 'Its name, at most 200 characters.' })
  title?: string | null;

  @Field(() => String, {
    nullable: true,
    description: "The client's own id for it, 1 to 255 characters. The same id returns the same thread.",
  })
  clientId?: string | null;
}

@InputType({ description: 'The thread and its new name.' })
export class RenameThreadInput {
  @Field(() => ID, { description: "The thread: server id, or the client's own id." })
  threadId!: string;

  @Field(() => String, { description: 'Its name, at most 200 characters.' })
  title!: string;
}

export const ThreadPayload = payloadOf({
  name: 'ThreadPayload',
  description: 'The thread after the change, or the reasons why nothing changed.',
  fields: { thread: [ThreadModel, 'The thread.'] },
});
