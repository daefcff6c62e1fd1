import { Field, ID, InputType, Int, registerEnumType } from '@nestjs/graphql';

import type { StartChat } from '#chat';
import type { OnClientTimeout, ToolEffect } from '#tools';

import { AgentWishInput } from '../agents/agent.input.js';
import { Json } from '../graphql/scalars/json.scalar.js';
import { ToolEffectEnum } from '../tools/tool.model.js';
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

/** GraphQL's names of what becomes of a call that no client serves. */
export const OnClientTimeoutEnum = {
  WAIT: 'wait',
  SKIP: 'skip',
  FAIL: 'fail',
} as const satisfies Record<Uppercase<OnClientTimeout>, OnClientTimeout>;

registerEnumType(OnClientTimeoutEnum, {
  name: 'OnClientTimeout',
  description: 'What becomes of a call that no client serves before its timeout.',
  valuesMap: {
    WAIT: { description: 'It waits on: for 24 hours, or for the timeout where that is longer. Then it is TIMED_OUT.' },
    SKIP: { description: 'It is SKIPPED, and the model goes on without it.' },
    FAIL: { description: 'The job fails with `client_tool_timeout`.' },
  },
});

/** A tool that clients of the requester run. */
@InputType({
  description: 'A tool that you run yourself, wherever you are connected: claim its calls and submit results.',
})
export class ClientToolInput {
  @Field(() => String, {
    description: '1 to 64 of letters, digits, `_`, `-` and `.`; unique among all tools named here.',
  })
  name!: string;

  @Field(() => String, { nullable: true, description: 'What the model reads about it.' })
  description?: string | null;

  @Field(() => Json, {
    nullable: true,
    description: 'JSON Schema (2020-12) of its arguments, an object; absent: it takes none.',
  })
  parameters?: unknown;

  @Field(() => Int, {
    nullable: true,
    description: 'Ms that a call waits for a client, 1,000 to 604,800,000; absent: 24 hours.',
  })
  timeoutMs?: number | null;

  @Field(() => OnClientTimeoutEnum, { nullable: true, description: 'And then; absent: WAIT.' })
  onTimeout?: OnClientTimeout | null;

  @Field(() => ToolEffectEnum, {
    nullable: true,
    description:
      'What running it twice would do; absent: ONCE. When a client that had begun is lost, only PURE and IDEMPOTENT go to another.',
  })
  effect?: ToolEffect | null;
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

  @Field(() => AgentWishInput, {
    nullable: true,
    description: 'Who answers: an agent of the workspace, or any. Its tools are offered, and bound `tools`.',
  })
  agent?: AgentWishInput | null;

  @Field(() => String, {
    nullable: true,
    description: "The model, unless the agent has one; absent: the provider's default.",
  })
  model?: string | null;

  @Field(() => [String], { nullable: true, description: 'Names of the tools that may be called; absent: none.' })
  tools?: string[] | null;

  @Field(() => [ClientToolInput], {
    nullable: true,
    description: 'Tools that your clients run. Their calls become requests that any client of yours may claim.',
  })
  clientTools?: ClientToolInput[] | null;

  @Field(() => String, {
    nullable: true,
    description:
      'Binds the client tools to one device: only a claim with this `deviceId` is granted. 1 to 256 characters.',
  })
  clientDeviceId?: string | null;

  @Field(() => Json, {
    nullable: true,
    description:
      'Approval rules of this request alone, in the shape of the workspace\'s policy: `{"rules":[{"match":"send_*","action":"require_approval"}]}`. They can only tighten it.',
  })
  toolApproval?: unknown;

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
