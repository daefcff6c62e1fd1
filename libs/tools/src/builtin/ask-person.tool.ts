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

/** What a call of `ask_person` asks. */
export interface AskedPerson {
  readonly question: string;
  readonly inputSchema: JsonSchema;
}

const anyText: JsonSchema = { type: 'string', minLength: 1, maxLength: 20_000 };
const longestSchema = 16_384;

/**
 * Puts a question to the person who started the job and waits for the answer, days if need be. It is answered by a request of
 * kind `human_input`, never by a handler.
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
    toAskedPerson(args); // only what cannot be asked gets here
    throw new Error('this call must be answered by a person');
  },
});

/** Reads the arguments of a call. Throws ToolArgumentsError for what cannot be asked: no question, a schema that does not compile. */
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
