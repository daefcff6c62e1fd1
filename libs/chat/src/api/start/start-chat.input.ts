import { Field, ID, InputType, Int } from '@nestjs/graphql';

import { WhenBusyEnum } from '#auth/api';
import { ProviderDownActionEnum } from '#jobs/api';
import { DateTime, defineEnum, Json } from '#platform/api';
import type { OnClientTimeout, ToolEffect } from '#tools';
import { ToolEffectEnum } from '#tools/api';

import type { StartChat } from '../../input/start-chat.js';
import { AgentSelectionInput } from './agent-selection.input.js';
import { FileAttachmentInput } from './file-attachment.input.js';

/** One message of a conversation in a request. */
@InputType({ description: "One message of a conversation, in OpenAI's format." })
export class ChatMessageInput {
  @Field(() => String, { description: '`system`, `user`, `assistant` or `tool`.' })
  role!: string;

  @Field(() => Json, {
    nullable: true,
    description: 'Text, or an array of pieces (`{"type":"text","text":"…"}`, `image_url` …).',
  })
  content?: unknown;

  @Field(() => [FileAttachmentInput], {
    nullable: true,
    description: 'Files of a `user` message, after its content. At most 20.',
  })
  attachments?: FileAttachmentInput[] | null;

  @Field(() => String, { nullable: true, description: 'Name of the speaker, if there are several.' })
  name?: string | null;

  @Field(() => Json, {
    nullable: true,
    description: "Tool calls of an assistant message, in OpenAI's format.",
  })
  toolCalls?: unknown;

  @Field(() => String, { nullable: true, description: 'For a `tool` message: the id of its call.' })
  toolCallId?: string | null;
}

/** GraphQL names of what happens to a call that no client runs. */
export const OnClientTimeoutEnum = defineEnum(
  'OnClientTimeout',
  'What happens to a call that no client runs before its timeout.',
  {
    WAIT: ['wait', 'The call waits for 24 hours, or for its own timeout if that is longer. Then it is TIMED_OUT.'],
    SKIP: ['skip', 'The call is SKIPPED and the job continues without its result.'],
    FAIL: ['fail', 'The job fails with `client_tool_timeout`.'],
  },
) satisfies Record<Uppercase<OnClientTimeout>, OnClientTimeout>;

/** A tool that clients of the requester run. */
@InputType({
  description: 'A tool that the client runs: it claims calls and submits results from any connection.',
})
export class ClientToolInput {
  @Field(() => String, {
    description: '1 to 64 of letters, digits, `_`, `-` and `.`; unique among the tools of this request.',
  })
  name!: string;

  @Field(() => String, { nullable: true, description: 'What the model reads about it.' })
  description?: string | null;

  @Field(() => Json, {
    nullable: true,
    description: 'JSON Schema (2020-12) of its arguments, an object. Absent: no arguments.',
  })
  parameters?: unknown;

  @Field(() => Int, {
    nullable: true,
    description:
      'How long a call waits for a client, in ms: 1,000 to 604,800,000. Absent: 24 hours. With `onTimeout: WAIT`, a value below 24 hours has no effect.',
  })
  timeoutMs?: number | null;

  @Field(() => OnClientTimeoutEnum, {
    nullable: true,
    description: 'What happens to a call that no client runs in time. Absent: WAIT.',
  })
  onTimeout?: OnClientTimeout | null;

  @Field(() => ToolEffectEnum, {
    nullable: true,
    description:
      'The effect of running it twice. Absent: ONCE. If a client disappears after it started, only PURE and IDEMPOTENT calls go to another client.',
  })
  effect?: ToolEffect | null;
}

/** The input of `startChat`. */
@InputType({ description: 'The conversation, the thread, and the options of a chat job.' })
export class StartChatInput {
  @Field(() => String, { nullable: true, description: 'The user message. Set either this or `messages`.' })
  message?: string | null;

  @Field(() => [FileAttachmentInput], { nullable: true, description: 'Files of `message`. At most 20.' })
  attachments?: FileAttachmentInput[] | null;

  @Field(() => [ChatMessageInput], {
    nullable: true,
    description: 'Several messages, which are added to the thread. Set either this or `message`.',
  })
  messages?: ChatMessageInput[] | null;

  @Field(() => ID, {
    nullable: true,
    description:
      "The thread: server id, or the client's own id, which creates a thread if it is new. Absent: a new thread.",
  })
  threadId?: string | null;

  @Field(() => String, {
    nullable: true,
    description: "The client's id for the assistant message of the job.",
  })
  clientMessageId?: string | null;

  @Field(() => AgentSelectionInput, {
    nullable: true,
    description: 'The agent: a given one, or the best fit. Its tools are offered and limit `tools`.',
  })
  agent?: AgentSelectionInput | null;

  @Field(() => String, {
    nullable: true,
    description: 'The model, unless the agent has one. Absent: the default of the provider.',
  })
  model?: string | null;

  @Field(() => [String], { nullable: true, description: 'Names of the tools that the model may call. Absent: none.' })
  tools?: string[] | null;

  @Field(() => [ClientToolInput], {
    nullable: true,
    description: 'Tools that clients run. Any client of the requester may claim their calls.',
  })
  clientTools?: ClientToolInput[] | null;

  @Field(() => String, {
    nullable: true,
    description:
      'Binds the client tools to one device: only claims with this `deviceId` are accepted. 1 to 256 characters.',
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

  @Field(() => Int, {
    nullable: true,
    description:
      'For how long, in ms, failed model requests are retried with a backoff of at most about one minute: 0 to 604,800,000. After that, the backoff grows to at most ten minutes, until a request succeeds or the job fails. Absent: the setting of the agent, else of the installation.',
  })
  modelRetryForMs?: number | null;

  @Field(() => ProviderDownActionEnum, {
    nullable: true,
    description:
      'What the job does while its model provider is down. Absent: the setting of the agent, else of the installation.',
  })
  onProviderDown?: 'wait' | 'fail' | null;

  @Field(() => WhenBusyEnum, {
    nullable: true,
    description: 'What to do when a job is active in the thread. Absent: the setting of the thread or workspace.',
  })
  whenBusy?: StartChat['whenBusy'];

  @Field(() => DateTime, {
    nullable: true,
    description:
      'When the job begins, at most 366 days ahead; the job is accepted immediately. If its thread is busy at that instant, the job is queued behind the active job. Absent or past: the job begins at once.',
  })
  startAt?: number | null;

  @Field(() => Json, {
    nullable: true,
    description:
      'Key-value pairs of text, for filters and hooks: `{"team":"billing"}`. At most 16; keys of 1 to 64 and values of at most 512 characters.',
  })
  labels?: unknown;

  @Field(() => String, {
    nullable: true,
    description:
      'Makes the start idempotent: the same key and input return the same job. 1 to 255 visible ASCII characters.',
  })
  idempotencyKey?: string | null;

  @Field(() => String, {
    nullable: true,
    description: 'A provider key for this job only, stored encrypted and deleted when the job ends.',
  })
  providerKey?: string | null;
}
