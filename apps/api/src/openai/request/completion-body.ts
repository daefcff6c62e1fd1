import { z } from 'zod';

import { named } from '#platform/api';

/** Sampling fields that go to the provider as they are. */
const parameters = {
  temperature: z.number().nullish(),
  top_p: z.number().nullish(),
  max_tokens: z.int().positive().nullish(),
  max_completion_tokens: z.int().positive().nullish(),
  stop: z.union([z.string().max(1_024), z.array(z.string().max(1_024)).max(64)]).nullish(),
  seed: z.int().nullish(),
  presence_penalty: z.number().nullish(),
  frequency_penalty: z.number().nullish(),
  response_format: z.looseObject({ type: z.string().max(64) }).nullish(),
  reasoning_effort: z.string().max(64).nullish(),
  parallel_tool_calls: z.boolean().nullish(),
};

const part = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({
    type: z.literal('image_url'),
    image_url: z.object({ url: z.string().min(1), detail: z.string().max(64).nullish() }),
  }),
  z.object({
    type: z.literal('file'),
    file: z.object({ file_id: z.string().nullish(), file_data: z.string().nullish(), filename: z.string().nullish() }),
  }),
  // A refusal of the assistant comes back as text, unchanged.
  z.object({ type: z.literal('refusal'), refusal: z.string() }),
]);

const call = z.object({
  id: z.string().max(1_024),
  type: z.literal('function').default('function'),
  function: z.object({ name: z.string().max(256), arguments: z.string() }),
});

const content = z.union([z.string(), z.array(part)]).nullish();
const name = z.string().max(256).nullish();

const message = z.discriminatedUnion('role', [
  z.object({ role: z.enum(['system', 'developer', 'user']), content, name }),
  z.object({ role: z.literal('assistant'), content, name, tool_calls: z.array(call).nullish() }),
  z.object({ role: z.literal('tool'), content, tool_call_id: z.string().min(1).max(1_024) }),
]);

/** An entry that is not an object is often only a name. */
const toolForm = 'must be an object such as {"type": "function", "function": {"name": "calculate"}}';

const tool = z.object(
  {
    type: z.literal('function'),
    function: z.object({
      name: z.string().min(1).max(256),
      description: z.string().nullish(),
      parameters: z.record(z.string(), z.unknown()).nullish(),
      strict: z.boolean().nullish(),
    }),
  },
  { error: toolForm },
);

const toolChoice = z.union([
  z.enum(['auto', 'none', 'required']),
  z.object({ type: z.literal('function'), function: z.object({ name: z.string().min(1).max(256) }) }),
]);

/** The limits of OpenAI's API, which labels of jobs have as well: the pairs are stored with the response and label its job. */
const metadata = z
  .record(z.string().min(1).max(64), z.string().max(512))
  .refine((pairs) => Object.keys(pairs).length <= 16, 'must have at most 16 keys')
  .nullish();

/** The body of a completion. Null counts as absent. Unsupported fields are rejected earlier. */
export const completionBody = named(
  'ChatCompletionRequest',
  z
    .object({
      model: z.string().min(1).max(256),
      messages: z.array(message),
      tools: z.array(tool).nullish(),
      tool_choice: toolChoice.nullish(),
      stream: z.boolean().nullish(),
      stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
      user: z.string().max(1_024).nullish(),
      metadata,
      store: z.boolean().nullish(),
      n: z.literal(1).nullish(),
      logprobs: z.literal(false).nullish(),
      modalities: z.array(z.string().max(64)).max(16).nullish(),
      ...parameters,
    })
    .meta({ example: { model: 'nightshift-demo', messages: [{ role: 'user', content: 'Hello' }] } }),
);

export type CompletionBody = z.infer<typeof completionBody>;

/** Names of the fields that go to the provider. */
export const parameterNames = Object.keys(parameters);

/** Names of the fields that have an effect. */
export const knownFields: ReadonlySet<string> = new Set(Object.keys(completionBody.shape));
