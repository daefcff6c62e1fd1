import type { z } from 'zod';

import { invalidInput } from './auth.errors.js';

/** What `schema` makes of `input`, or `bad_request` naming the first field at fault. */
export function parseInput<T>(schema: z.ZodType<T>, input: unknown): T {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const field = issue?.path.join('.') ?? '';
  throw invalidInput(field, field === '' ? 'Invalid request body' : `${field}: ${issue?.message ?? 'wrong value'}`);
}
