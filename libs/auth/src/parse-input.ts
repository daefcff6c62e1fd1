import type { z } from 'zod';

import { readInput } from '#platform';

import { invalidInput } from './auth.errors.js';

/** Parses `input` with `schema`. Throws `bad_request` that names the first invalid field. */
export function parseInput<T>(schema: z.ZodType<T>, input: unknown): T {
  const read = readInput(schema, input);
  if ('data' in read) return read.data;
  const { field, text } = read.problem;
  throw invalidInput(field, field === '' ? 'Invalid request body' : `${field}: ${text}`);
}
