import { Field, ID, Int, ObjectType } from '@nestjs/graphql';

import { connectionOf } from '../graphql/connections/connection.model.js';
import { Node } from '../graphql/node/node.model.js';
import { DateTime } from '../graphql/scalars/date-time.scalar.js';
import { Json } from '../graphql/scalars/json.scalar.js';
import { WhenBusyEnum } from '../jobs/job.enums.js';

/** A conversation. */
@ObjectType('Thread', { implements: () => [Node], description: 'A conversation.' })
export class ThreadModel extends Node {
  @Field(() => ID, { description: 'Our id of the thread.' })
  id!: string;

  @Field(() => String, {
    nullable: true,
    description: 'The id that a client gave it, if any; works wherever a thread is named.',
  })
  clientId!: string | null;

  @Field(() => String, { description: 'Its name; at first the beginning of what was said.' })
  title!: string;

  @Field(() => ID, { description: 'The user who began it.' })
  createdBy!: string;

  @Field(() => WhenBusyEnum, {
    nullable: true,
    description: 'What a start does while a job is active; null: what the workspace says.',
  })
  whenBusy!: string | null;

  @Field(() => DateTime, { description: 'When it was begun.' })
  createdAt!: number;

  @Field(() => DateTime, { description: 'When it last changed.' })
  updatedAt!: number;
}

/** One entry of a conversation. */
@ObjectType('Message', { implements: () => [Node], description: 'One entry of a conversation.' })
export class MessageModel extends Node {
  @Field(() => ID, { description: 'Our id of the message.' })
  id!: string;

  @Field(() => ID, { description: 'The thread it stands in.' })
  threadId!: string;

  @Field(() => Int, { description: '1, 2, 3 … within the thread: the order of the conversation.' })
  position!: number;

  @Field(() => String, { description: 'Who speaks: `user`, `assistant`, `system` or `tool`.' })
  role!: string;

  @Field(() => String, { nullable: true, description: 'The id that a client gave it, if any.' })
  clientId!: string | null;

  @Field(() => Json, {
    nullable: true,
    description: 'What is said: text, or pieces in the shape of OpenAI. The answer of a job is the text of that job.',
  })
  content!: unknown;

  @Field(() => ID, { nullable: true, description: 'The job that writes, or wrote, this answer.' })
  jobId!: string | null;

  @Field(() => ID, { nullable: true, description: 'The user who said it; null for answers.' })
  createdBy!: string | null;

  @Field(() => DateTime, { description: 'When it entered the conversation.' })
  createdAt!: number;
}

/** A page of threads. */
export const ThreadConnection = connectionOf(ThreadModel, 'Thread');
/** A page of messages. */
export const MessageConnection = connectionOf(MessageModel, 'Message');
