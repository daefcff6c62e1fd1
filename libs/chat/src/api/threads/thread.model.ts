import { Field, ID, Int, ObjectType } from '@nestjs/graphql';

import { WhenBusyEnum } from '#auth/api';
import { connectionOf, DateTime, Json, Node } from '#platform/api';

/** A conversation. */
@ObjectType('Thread', { implements: () => [Node], description: 'A conversation.' })
export class ThreadModel extends Node {
  @Field(() => ID, { description: 'The server id of the thread.' })
  id!: string;

  @Field(() => String, {
    nullable: true,
    description: "The client's own id, if any. Accepted wherever a thread id is.",
  })
  clientId!: string | null;

  @Field(() => String, { description: 'Its name. By default the beginning of the first message.' })
  title!: string;

  @Field(() => ID, { description: 'The user who created it.' })
  createdBy!: string;

  @Field(() => String, {
    nullable: true,
    description: 'For a chat of a Syntrix database: the user of the chat, by the id that the database has for them.',
  })
  externalUserId!: string | null;

  @Field(() => WhenBusyEnum, {
    nullable: true,
    description: 'What a start does while a job is active. Null: the setting of the workspace.',
  })
  whenBusy!: string | null;

  @Field(() => DateTime, { description: 'When it was created.' })
  createdAt!: number;

  @Field(() => DateTime, { description: 'When it last changed.' })
  updatedAt!: number;
}

/** One entry of a conversation. */
@ObjectType('Message', { implements: () => [Node], description: 'One entry of a conversation.' })
export class MessageModel extends Node {
  @Field(() => ID, { description: 'The server id of the message.' })
  id!: string;

  @Field(() => ID, { description: 'The thread of the message.' })
  threadId!: string;

  @Field(() => Int, { description: '1, 2, 3 … within the thread: the order of the conversation.' })
  position!: number;

  @Field(() => String, { description: 'Its role: `user`, `assistant`, `system` or `tool`.' })
  role!: string;

  @Field(() => String, { nullable: true, description: 'The id that a client gave it, if any.' })
  clientId!: string | null;

  @Field(() => Json, {
    nullable: true,
    description: "Its content: text, or parts in OpenAI's format. For the response of a job: the text of the job.",
  })
  content!: unknown;

  @Field(() => ID, { nullable: true, description: 'The job that writes this message.' })
  jobId!: string | null;

  @Field(() => ID, { nullable: true, description: 'The user who wrote it. Null for responses.' })
  createdBy!: string | null;

  @Field(() => DateTime, { description: 'When it entered the conversation.' })
  createdAt!: number;
}

/** A page of threads. */
export const ThreadConnection = connectionOf(ThreadModel, 'Thread');
/** A page of messages. */
export const MessageConnection = connectionOf(MessageModel, 'Message');
