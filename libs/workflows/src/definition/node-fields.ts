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
  maxRetries: z.number().int().min(0).max(20).default(2).describe('Attempts after the first'),
  baseDelay: timerMs.default(1_000).describe('Ms before the first of them; doubles with each'),
  maxDelay: timerMs.default(30_000).describe('Ms between two at most, also where a provider asks for more'),
  retryOn: z.array(z.string()).default([]).describe('Codes of errors; none: all that `skipOn` does not name'),
  skipOn: z.array(z.string()).default(['AUTH', 'VALIDATION']).describe('Codes of errors that are not tried again'),
});

const errorHandling = z.object({
  mode: z
    .enum(['stop', 'continue', 'branch'])
    .default('stop')
    .describe('A failed node ends the run, hands on an empty text, or takes its `error` edges'),
  retry: retry.prefault({}).describe('How often it is tried again before'),
});

const option = z.object({
  id: z.string().describe('The value that the answer contains'),
  label: z.string().optional().describe('What the person reads; without one the `id`'),
  action: z.enum(['approve', 'reject', 'custom']).default('custom').describe('What it means to the run'),
});
export const options = z.array(option).optional();
export const defaultAction = z.enum(['approve', 'reject', 'skip']);

export const hitl = z.object({
  enabled: z.boolean().default(false).describe('Whether anybody is asked'),
  mode: z
    .enum(['approval', 'input', 'review'])
    .default('approval')
    .describe(
      '`approval`, `input`: a person decides before the node runs, or gives its input. `review`: a person decides about its output',
    ),
  prompt: z.string().optional().describe('What the person reads. Also called `message`'),
  inputSchema: jsonObject.optional().describe('A JSON Schema of what the person gives in the mode `input`'),
  options: options.describe('Answers to choose from'),
  timeout: waitMs.optional().describe('Ms; 0 or without it 7 days'),
  defaultAction: defaultAction.default('reject').describe('The answer that is used after the timeout'),
});
/** A person asked before a node, or about what it wrote. */
export const askedPerson = z.preprocess((value) => renamed(value, 'message', 'prompt'), hitl.optional());

/** What every node may have. */
export const baseFields = {
  label: z.string().optional().meta({ description: 'Its name for people and models', isRequired: true }),
  description: z.string().optional().describe('How routers describe this node to their model'),
  errorHandling: errorHandling.prefault({}).describe('What the run does when the node fails'),
  timeoutMs: timerMs.min(1).optional().describe('Ms that one attempt may take; without it there is no limit'),
};

export type ErrorHandling = z.output<typeof errorHandling>;
export type Hitl = z.output<typeof hitl>;
