import { z } from 'zod';

import { compileSchema } from '../compile-schema.js';
import { defineTool } from '../define-tool.js';
import type { JsonSchema } from '../tool.js';
import { ToolArgumentsError } from '../tools.errors.js';

const input = z.object({
  question: z.string().trim().min(1).max(4_000).describe('What to ask, in full sentences'),
  fields: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('JSON Schema of the answer, for a form; leave it out to get text'),
});

/** The question of a call of `ask_person`. */
export interface AskedPerson {
  readonly question: string;
  readonly inputSchema: JsonSchema;
}

const anyText: JsonSchema = { type: 'string', minLength: 1, maxLength: 20_000 };
const longestSchema = 16_384;

/**
 * Asks the person who started the job a question, and waits for the answer, for days if necessary. A request of kind `human_input` delivers
 * the answer; the handler never runs.
 */
export const askPerson = defineTool({
  name: 'ask_person',
  description:
    'Asks the person you work for and waits for the answer. Use it when only a person can know or decide something. Give `fields` to get a form filled in.',
  input,
  runtime: 'server',
  effect: 'idempotent',
  asks: 'person',
  execute: (args) => {
    toAskedPerson(args); // throws for invalid arguments; valid ones never reach a handler
    throw new Error('this call must be answered by a person');
  },
});

/** Reads the arguments of a call. Throws ToolArgumentsError if there is no question or the schema does not compile. */
export function toAskedPerson(args: unknown): AskedPerson {
  const parsed = input.safeParse(args);
  if (!parsed.success) throw new ToolArgumentsError(`invalid arguments: ${z.prettifyError(parsed.error)}`);
  const { question, fields } = parsed.data;
  if (fields === undefined) return { question, inputSchema: anyText };
  if (JSON.stringify(fields).length > longestSchema) {
    throw new ToolArgumentsError(`fields is longer than ${longestSchema} characters`);
  }
  try {
    compileSchema(fields);
  } catch (error) {
    throw new ToolArgumentsError(`fields: ${error instanceof Error ? error.message : 'not a JSON Schema'}`);
  }
  return { question, inputSchema: fields };
}
