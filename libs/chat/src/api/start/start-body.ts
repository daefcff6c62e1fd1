import { z } from 'zod';

import { jobLabels, whenBusyChoices } from '#jobs';
import { named } from '#platform/api';

import { maxModelRetryForMs } from './to-provider-down.js';

/** Control fields of a start, by their plain name; each is also accepted with a leading underscore. */
export const controlFields = [
  'background',
  'threadId',
  'messageId',
  'backgroundMode',
  'toolRuntime',
  'clientDeviceId',
  'clientTools',
  'toolApproval',
  'admissionId',
  'whenBusy',
  'startAt',
  'labels',
  'agent',
  'modelRetryForMs',
  'onProviderDown',
  'attachments',
] as const;

/** Sampling and routing fields, which are sent to the provider unchanged. Only fields whose type OpenAI defines are checked. */
const parameters = {
  temperature: z.number(),
  top_p: z.number(),
  max_tokens: z.int().positive(),
  max_completion_tokens: z.int().positive(),
  seed: z.int(),
  stop: z.union([z.string().max(1_024), z.array(z.string().max(1_024)).max(64)]),
  presence_penalty: z.number(),
  frequency_penalty: z.number(),
  parallel_tool_calls: z.boolean(),
  response_format: z.record(z.string(), z.unknown()),
  reasoning_effort: z.string().max(64),
  logit_bias: z.record(z.string(), z.number()),
  top_k: z.number(),
  min_p: z.number(),
  top_a: z.number(),
  repetition_penalty: z.number(),
  verbosity: z.string().max(64),
  user: z.string().max(1_024),
  include_reasoning: z.boolean(),
  modalities: z.array(z.string().max(64)).max(16),
  transforms: z.array(z.string().max(256)).max(64),
  models: z.array(z.string().max(256)).max(64),
  reasoning: z.record(z.string(), z.unknown()),
  provider: z.record(z.string(), z.unknown()),
  prediction: z.record(z.string(), z.unknown()),
  plugins: z.array(z.unknown()),
};

/** Names of the fields that are sent to the provider. */
export const parameterNames = Object.keys(parameters);

/** An entry that is not an object is often only a name. */
const toolForm = 'must be an object such as {"type": "function", "function": {"name": "calculate"}}';

const tool = z.object(
  {
    type: z.literal('function'),
    function: z.object({
      name: z.string().min(1).max(256),
      description: z.string().optional(),
      parameters: z.record(z.string(), z.unknown()).optional(),
      strict: z.boolean().nullish(),
    }),
  },
  { error: toolForm },
);

const toolChoice = z.union([
  z.enum(['auto', 'none', 'required']),
  z.object({ type: z.literal('function'), function: z.object({ name: z.string().min(1).max(256) }) }),
]);

const attachment = z.object({ hash: z.string(), mime: z.string(), name: z.string().optional() });

/** An id that a client chose. It must be short enough for an index key. */
const clientId = z.string().min(1).max(256);

/** The server runs `calculate`. Each start needs another `messageId`. */
const example = {
  threadId: 'my-thread',
  messageId: 'my-message-1',
  messages: [{ role: 'user', content: 'What is 17 * 23?' }],
  tools: [{ type: 'function', function: { name: 'calculate' } }],
};

/** The body of a start on the route of OR3 clients. */
export const or3Example = {
  _background: true,
  _threadId: 'my-or3-thread',
  _messageId: 'my-message-1',
  messages: [{ role: 'user', content: 'What is 17 * 23?' }],
};

/** The body of a start, after the underscore of control fields was removed. Null counts as absent; unknown fields are removed. */
export const startBody = named(
  'StartJob',
  z
    .object({
      threadId: clientId,
      messageId: clientId,
      backgroundMode: z.unknown().optional(),
      toolRuntime: z.record(z.string(), z.enum(['client', 'server', 'hybrid'])).optional(),
      clientDeviceId: z.string().max(256).optional(),
      clientTools: z.boolean().optional(),
      toolApproval: z.record(z.string(), z.unknown()).optional(),
      admissionId: z.string().optional(),
      whenBusy: z.enum(whenBusyChoices).optional(),
      /** The job is accepted now and begins at this instant. */
      startAt: z.iso.datetime({ offset: true }).optional(),
      labels: jobLabels.optional(),
      modelRetryForMs: z.int().min(0).max(maxModelRetryForMs).optional(),
      onProviderDown: z.enum(['wait', 'fail']).optional(),
      /** An agent by id, slug or name; `auto`: a model chooses one. */
      agent: z.string().min(1).max(256).optional(),
      model: z.string().min(1).max(256).optional(),
      messages: z.array(z.looseObject({ role: z.string() })),
      /** Files of the last message, which must have the role user. */
      attachments: z.array(attachment).optional(),
      tools: z.array(tool).optional(),
      tool_choice: toolChoice.optional(),
      ...z.object(parameters).partial().shape,
    })
    .meta({ example }),
);

export type StartBody = z.infer<typeof startBody>;
