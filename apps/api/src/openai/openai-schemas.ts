import { z } from 'zod';

import { named } from '#platform/api';

import type { OpenAiErrorBody } from '../errors/openai-error.js';
import type { Completion } from './answer/completion.js';

const error: z.ZodType<{ readonly error: OpenAiErrorBody }> = z.object({
  error: z.object({
    message: z.string(),
    type: z.enum(['invalid_request_error', 'rate_limit_error', 'server_error']),
    param: z.string().nullable(),
    code: z.string().nullable(),
  }),
});

const usage = z.object({ prompt_tokens: z.int(), completion_tokens: z.int(), total_tokens: z.int() });
const finishReason = z.enum(['stop', 'length', 'tool_calls', 'content_filter']);
const toolCall = z.object({
  id: z.string(),
  type: z.literal('function'),
  function: z.object({ name: z.string(), arguments: z.string().meta({ description: 'JSON text.' }) }),
});

const completion = z.object({
  id: z.string().meta({ examples: ['chatcmpl-0123456789ab'] }),
  object: z.literal('chat.completion'),
  created: z.int().meta({ description: 'Seconds since the epoch.' }),
  model: z.string(),
  choices: z.array(
    z.object({
      index: z.literal(0),
      message: z.object({
        role: z.literal('assistant'),
        content: z.string().nullable(),
        refusal: z.null(),
        tool_calls: z.array(toolCall).exactOptional(),
      }),
      logprobs: z.null(),
      finish_reason: finishReason,
    }),
  ),
  usage,
}) satisfies z.ZodType<Omit<Completion, 'choices'> & { readonly choices: readonly Completion['choices'][number][] }>;

const chunk = z.object({
  id: z.string(),
  object: z.literal('chat.completion.chunk'),
  created: z.int(),
  model: z.string(),
  choices: z.array(
    z.object({
      index: z.literal(0),
      delta: z.object({
        role: z.literal('assistant').optional(),
        content: z.string().optional(),
        tool_calls: z.array(toolCall.extend({ index: z.int() })).optional(),
      }),
      logprobs: z.null(),
      finish_reason: finishReason.nullable(),
    }),
  ),
  usage: usage.nullish(),
});

const model = named(
  'Model',
  z.object({
    id: z.string().meta({ examples: ['auto', 'clerk', 'workflow/weekly-report'] }),
    object: z.literal('model'),
    created: z.int(),
    owned_by: z.literal('nightshift'),
    name: z.string(),
    description: z.string(),
  }),
);

/** The response for a completed call. */
export interface ExecutedCall {
  readonly tool_call_id: string;
  readonly result: unknown;
}

const executed: z.ZodType<ExecutedCall> = z.object({
  tool_call_id: z.string(),
  result: z.unknown().meta({ description: 'The result of the tool: JSON, or text.' }),
});

/** The responses of the routes under `/v1`. */
export const openAiReplies = {
  error: named('OpenAiError', error),
  completion: named('ChatCompletion', completion),
  chunk: named('ChatCompletionChunk', chunk),
  model,
  models: named('ModelList', z.object({ object: z.literal('list'), data: z.array(model) })),
  executed: named('ExecutedCall', executed),
} as const;
