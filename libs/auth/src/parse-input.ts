import type { z } from 'zod';

import { readInput } from '#platform';

import { invalidInput } from './auth.errors.js';

/** What `schema` makes of `input`, or `bad_request` naming the first field at fault. */
export function parseInput<T>(schema: z.ZodType<T>, input: unknown): T {
  const read = readInput(schema, input);
  if ('data' in read) return read.data;
  const { field, text } = read.problem;
  throw invalidInput(field, field === '' ? 'Invalid request body' : `${field}: ${text}`);
}
