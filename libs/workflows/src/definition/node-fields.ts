import { z } from 'zod';

import { isJsonObject, type JsonObject, memberOf } from './json.js';

const longestWaitMs = 366 * 86_400_000;
/** What a timer of the platform can hold. */
const longestTimerMs = 2_147_483_647;

export const jsonObject = z
  .custom<JsonObject>(isJsonObject, { params: { wanted: 'an object' } })
  .meta({ type: 'object' });
/** An empty one is none. */
export const modelName = z
  .string()
  .transform((name) => (name.trim() === '' ? undefined : name))
  .optional();
export const toolNames = z.array(z.string()).default([]);
/** How long a person or the world may take. 0: for as long as the workspace allows. */
export const waitMs = z.number().min(0).max(longestWaitMs);
/** How long work may take. */
export const timerMs = z.number().min(0).max(longestTimerMs);

/** Gives a member its other name, where the right one is absent. */
export function renamed(value: unknown, alias: string, name: string): unknown {
  if (!isJsonObject(value) || Object.hasOwn(value, name) || !Object.hasOwn(value, alias)) return value;
  return { ...value, [name]: memberOf(value, alias) };
}

const retry = z.object({
  maxRetries: z.number().int().min(0).max(20).default(2).describe('Maximum number of retries'),
  baseDelay: timerMs.default(1_000).describe('Delay before the first retry, in ms. It doubles with each retry'),
  maxDelay: timerMs
    .default(30_000)
    .describe('Maximum delay between two attempts, in ms, even if a provider asks for more'),
  retryOn: z
    .array(z.string())
    .default([])
    .describe('Error codes that are retried. Empty: all codes that are not in `skipOn`'),
  skipOn: z.array(z.string()).default(['AUTH', 'VALIDATION']).describe('Error codes that are not retried'),
});

const errorHandling = z.object({
  mode: z
    .enum(['stop', 'continue', 'branch'])
    .default('stop')
    .describe(
      'What happens after the last attempt has failed: `stop` ends the run, `continue` passes on an empty text, `branch` follows the `error` edges',
    ),
  retry: retry.prefault({}).describe('How a failed attempt is retried before `mode` applies'),
});

const option = z.object({
  id: z.string().describe('The value that the answer contains'),
  label: z.string().optional().describe('What the person reads. Default: the `id`'),
  action: z
    .enum(['approve', 'reject', 'custom'])
    .default('custom')
    .describe('The effect on the run: see "Know the effect of a decision"'),
});
export const options = z.array(option).optional();
export const defaultAction = z.enum(['approve', 'reject', 'skip']);

export const hitl = z.object({
  enabled: z.boolean().default(false).describe('Whether the node asks a person'),
  mode: z
    .enum(['approval', 'input', 'review'])
    .default('approval')
    .describe(
      '`approval`: a person approves the node before it runs. `input`: a person enters its input before it runs. `review`: a person reviews its output',
    ),
  prompt: z.string().optional().describe('What the person reads. Also called `message`'),
  inputSchema: jsonObject.optional().describe('A JSON Schema of the data that the person enters in the mode `input`'),
  options: options.describe('Answers that the person can choose from'),
  timeout: waitMs.optional().describe('How long the request waits for an answer, in ms. 0 or absent: 7 days'),
  defaultAction: defaultAction.default('reject').describe('The answer that is used after the timeout'),
});
/** The field `hitl`: asks a person before the node runs, or about its output. */
export const askedPerson = z.preprocess((value) => renamed(value, 'message', 'prompt'), hitl.optional());

/** What every node may have. */
export const baseFields = {
  label: z.string().optional().meta({ description: 'The name of the node, for people and models', isRequired: true }),
  description: z.string().optional().describe('How routers describe this node to their model'),
  errorHandling: errorHandling.prefault({}).describe('What the run does when the node fails'),
  timeoutMs: timerMs.min(1).optional().describe('Timeout of one attempt, in ms. Absent: no timeout'),
};

export type ErrorHandling = z.output<typeof errorHandling>;
export type Hitl = z.output<typeof hitl>;
