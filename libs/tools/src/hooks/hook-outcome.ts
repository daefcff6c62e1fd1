import type { HookOutcomes } from '@nightshift/plugin';
import { z } from 'zod';

import { jobLabels } from '#jobs';
import { readInput, toStorable } from '#platform';

/** Kinds of hooks that may return a change. Hooks of other kinds are actions. */
export type FilterEvent = Exclude<keyof HookOutcomes, 'onInterrupt' | 'onJobFinished' | 'onNotification'>;

/** The outcome that a hook returned, or, as a clause, why the value is not an outcome. */
export type ReadOutcome<On extends FilterEvent> =
  { readonly outcome: HookOutcomes[On] | null } | { readonly problem: string };

/** Maximum length of an outcome as JSON: enough for a conversation with a few images. */
const MAX_CHARACTERS = 16_777_216;
const MAX_REASON_LENGTH = 1_000;
const MAX_ITEMS = 10_000;

const reason = z
  .string()
  .trim()
  .min(1)
  .transform((text) => text.slice(0, MAX_REASON_LENGTH));
const object = z.record(z.string(), z.unknown());
const call = z.looseObject({
  id: z.string(),
  type: z.literal('function'),
  function: z.looseObject({ name: z.string(), arguments: z.string() }),
});
const content = z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]);
const message = z.discriminatedUnion('role', [
  z.looseObject({ role: z.enum(['system', 'user']), content }),
  z.looseObject({ role: z.literal('assistant'), content: content.nullable(), tool_calls: z.array(call).optional() }),
  z.looseObject({ role: z.literal('tool'), content, tool_call_id: z.string() }),
]);
/** Whether a value is a list of messages of a conversation. */
export function isMessageList(value: unknown): boolean {
  return z.array(message).max(MAX_ITEMS).safeParse(value).success;
}

const tool = z.strictObject({
  name: z.string(),
  description: z.string().optional(),
  parameters: object.optional(),
});

const schemas: { readonly [On in FilterEvent]: z.ZodObject } = {
  beforeJobStart: z.strictObject({ deny: reason, input: object, labels: jobLabels, reason }).partial(),
  beforeModelCall: z
    .strictObject({
      ...{ deny: reason, answer: z.string(), reason },
      ...{ messages: z.array(message).max(MAX_ITEMS), tools: z.array(tool).max(MAX_ITEMS), parameters: object },
    })
    .partial(),
  afterModelCall: z
    .strictObject({ restart: reason, text: z.string(), dropCalls: z.array(z.string()).max(MAX_ITEMS), reason })
    .partial(),
  beforeToolCall: z
    .strictObject({ deny: reason, result: z.unknown(), requireApproval: reason, arguments: object, reason })
    .partial(),
  afterToolCall: z.strictObject({ result: z.unknown(), error: reason, reason }).partial(),
  beforeNode: z.strictObject({ input: z.unknown(), skip: reason, fail: reason, reason }).partial(),
  afterNode: z.strictObject({ output: z.unknown(), fail: reason, reason }).partial(),
};

/** Members that exclude all others. */
const endings: ReadonlySet<string> = new Set(['deny', 'answer', 'restart', 'error', 'skip', 'fail']);

/** Reads the value that a hook returned; null: nothing. The outcome is plain JSON and shares no objects with the code of the hook. */
export function readOutcome<On extends FilterEvent>(on: On, returned: unknown): ReadOutcome<On> {
  if (returned === undefined || returned === null) return { outcome: null };
  const stored = toPlain(returned);
  if ('problem' in stored) return stored;
  const read = readInput(schemas[on], stored.value);
  if ('problem' in read) {
    const { field, text } = read.problem;
    return { problem: `it returned an outcome${field === '' ? ' that' : ` whose ${field}`} ${text}` };
  }
  const names = Object.keys(read.data);
  const ending = names.find((name) => endings.has(name) || (on === 'beforeToolCall' && name === 'result'));
  const others = names.filter((name) => name !== ending && name !== 'reason');
  if (ending !== undefined && others.length > 0)
    return { problem: `it returned ${ending} together with ${others.join(', ')}` };
  return { outcome: read.data as HookOutcomes[On] }; // its schema has these members
}

function toPlain(returned: unknown): { readonly value: unknown } | { readonly problem: string } {
  try {
    const value = toStorable(returned);
    if (JSON.stringify(value).length > MAX_CHARACTERS)
      return { problem: `it returned an outcome of more than ${MAX_CHARACTERS} characters` };
    return { value };
  } catch (error) {
    return {
      problem: `it returned a value that is not JSON: ${error instanceof Error ? error.message.replace(/\.$/, '') : 'unknown'}`,
    };
  }
}
