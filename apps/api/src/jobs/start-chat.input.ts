import { Field, ID, InputType } from '@nestjs/graphql';

import type { StartChat } from '#chat';

import { Json } from '../graphql/scalars/json.scalar.js';
import { WhenBusyEnum } from './job.enums.js';

/** One entry of a conversation, as it comes in. */
@InputType({ description: 'One entry of a conversation, in the shape of OpenAI.' })
export class ChatMessageInput {
  @Field(() => String, { description: '`system`, `user`, `assistant` or `tool`.' })
  role!: string;

  @Field(() => Json, {
    nullable: true,
    description: 'Text, or an array of pieces (`{"type":"text","text":"…"}`, `image_url` …).',
  })
  content?: unknown;

  @Field(() => String, { nullable: true, description: 'Name of the speaker, if there are several.' })
  name?: string | null;

  @Field(() => Json, {
    nullable: true,
    description: 'Calls that an assistant message asked for, as OpenAI writes them.',
  })
  toolCalls?: unknown;

  @Field(() => String, { nullable: true, description: 'Of a `tool` message: the call it answers.' })
  toolCallId?: string | null;
}

/** Input of `startChat`. */
@InputType({ description: 'What to answer, where, and with what.' })
export class StartChatInput {
  @Field(() => String, { nullable: true, description: 'What the user says. Either this or `messages`.' })
  message?: string | null;

  @Field(() => [ChatMessageInput], {
    nullable: true,
    description: 'Several entries; they join the thread. Either this or `message`.',
  })
  messages?: ChatMessageInput[] | null;

  @Field(() => ID, {
    nullable: true,
    description:
      "The thread to answer in: our id, or the client's own, which begins a thread when it is new. Absent: a new thread.",
  })
  threadId?: string | null;

  @Field(() => String, {
    nullable: true,
    description: "The client's id of the assistant message that will be written.",
  })
  clientMessageId?: string | null;

  @Field(() => String, { nullable: true, description: "The model; absent: the provider's default." })
  model?: string | null;

  @Field(() => [String], { nullable: true, description: 'Names of the tools that may be called; absent: none.' })
  tools?: string[] | null;

  @Field(() => Json, {
    nullable: true,
    description:
      '`"auto"`, `"none"`, `"required"` or `{"type":"function","function":{"name":"…"}}`, for the first round.',
  })
  toolChoice?: unknown;

  @Field(() => Json, { nullable: true, description: 'Sampling fields, as OpenAI names them: `{"temperature":0.2}`.' })
  parameters?: unknown;

  @Field(() => WhenBusyEnum, {
    nullable: true,
    description: "What to do when a job is active in the thread; absent: the thread's or workspace's setting.",
  })
  whenBusy?: StartChat['whenBusy'];

  @Field(() => String, {
    nullable: true,
    description:
      'Makes the start repeatable: the same key and input give the same job, whenever. 1 to 255 visible ASCII characters.',
  })
  idempotencyKey?: string | null;

  @Field(() => String, {
    nullable: true,
    description: 'A provider key for this job only; stored encrypted, erased when the job ends.',
  })
  providerKey?: string | null;
}

@InputType({ description: 'Which job to stop.' })
export class CancelJobInput {
  @Field(() => ID, { description: 'The job.' })
  jobId!: string;
}

@InputType({ description: 'Which job to try again.' })
export class RetryJobInput {
  @Field(() => ID, { description: 'A failed or cancelled job.' })
  jobId!: string;

  @Field(() => String, {
    nullable: true,
    description: 'Makes the retry repeatable: the same key gives the same new job.',
  })
  idempotencyKey?: string | null;
}
