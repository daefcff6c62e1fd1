import { z } from 'zod';

import { isJsonObject, type JsonObject, memberOf } from './json.js';

const longestWaitMs = 366 * 86_400_000;
/** What a timer of the platform can hold. */
const longestTimerMs = 2_147_483_647;

export const jsonObject = z.custom<JsonObject>(isJsonObject, 'must be an object');
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
  maxRetries: z.number().int().min(0).max(20).default(2),
  /** Ms before the first; doubles with each. */
  baseDelay: timerMs.default(1_000),
  maxDelay: timerMs.default(30_000),
  /** Empty: all that `skipOn` does not name. */
  retryOn: z.array(z.string()).default([]),
  skipOn: z.array(z.string()).default(['AUTH', 'VALIDATION']),
});

const errorHandling = z.object({
  mode: z.enum(['stop', 'continue', 'branch']).default('stop'),
  retry: retry.prefault({}),
});

const option = z.object({
  id: z.string(),
  label: z.string().optional(),
  action: z.enum(['approve', 'reject', 'custom']).default('custom'),
});
export const options = z.array(option).optional();
export const defaultAction = z.enum(['approve', 'reject', 'skip']);

const hitl = z.object({
  enabled: z.boolean().default(false),
  mode: z.enum(['approval', 'input', 'review']).default('approval'),
  prompt: z.string().optional(),
  inputSchema: jsonObject.optional(),
  options,
  timeout: waitMs.optional(),
  defaultAction: defaultAction.default('reject'),
});
/** A person asked before a node, or about what it wrote. */
export const askedPerson = z.preprocess((value) => renamed(value, 'message', 'prompt'), hitl.optional());

/** What every node may have. */
export const baseFields = {
  label: z.string().optional(),
  /** Shown to routers that lead to it. */
  description: z.string().optional(),
  errorHandling: errorHandling.prefault({}),
  /** Wall time of one attempt; absent: no limit of its own. */
  timeoutMs: timerMs.min(1).optional(),
};

export type ErrorHandling = z.output<typeof errorHandling>;
export type Hitl = z.output<typeof hitl>;
