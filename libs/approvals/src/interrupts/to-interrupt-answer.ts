import { AppError, toStorable } from '#platform';
import { RESULT_BYTES } from '#tools';

import type { InterruptAnswer } from './interrupt-deciders.js';
import { invalidAnswer } from './interrupts.errors.js';

const longestReason = 500;
const longestWord = 256;

/**
 * Reads the answer that a caller sent: each member that is there has its right type and size, null counts as absent, and
 * unknown members fall away. Whether the kind of request takes it is not asked here. Throws `bad_request`, `too_large` and
 * `not_storable`, naming the member.
 */
export function toInterruptAnswer(body: unknown): InterruptAnswer {
  if (body !== undefined && body !== null && (typeof body !== 'object' || Array.isArray(body))) throw invalidBody();
  const given: Readonly<Record<string, unknown>> = { ...body };
  return {
    ...member('decision', word(given['decision'], 'decision', 'Invalid decision')),
    ...member('action', word(given['action'], 'action', 'Invalid action')),
    ...member('argumentsHash', word(given['argumentsHash'], 'argumentsHash')),
    ...member('arguments', toObject(given['arguments'])),
    ...member('reason', toReason(given['reason'])),
    ...member('grantMinutes', toMinutes(given['grantMinutes'])),
    ...member('data', toBounded(given['data'], 'data')),
    ...member('result', toBounded(given['result'], 'result')),
  };
}

function member<K extends string, T>(name: K, value: T | undefined): { readonly [N in K]?: T } {
  return value === undefined ? {} : ({ [name]: value } as { readonly [N in K]: T }); // a computed key widens to string
}

function word(value: unknown, field: string, message?: string): string | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'string' || value.length > longestWord)
    throw message === undefined ? invalidBody(field) : invalidAnswer(field, message);
  return value;
}

function toReason(value: unknown): string | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'string') throw invalidBody('reason');
  if (value.length > longestReason) throw invalidAnswer('reason', `reason exceeds ${longestReason} characters`);
  return value;
}

function toMinutes(value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'number' || !Number.isInteger(value)) throw invalidBody('grantMinutes');
  return value;
}

function toObject(value: unknown): InterruptAnswer['arguments'] | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'object' || Array.isArray(value)) throw invalidBody('arguments');
  return { ...value };
}

function toBounded(value: unknown, field: 'data' | 'result'): unknown {
  if (value === undefined || value === null) return undefined;
  const storable = toStorable(value, field);
  const text = typeof storable === 'string' ? storable : JSON.stringify(storable);
  if (Buffer.byteLength(text) > RESULT_BYTES.durable) throw tooLarge(field);
  return storable;
}

const invalidBody = (field?: string) =>
  new AppError({ code: 'bad_request', message: 'Invalid request body', ...(field === undefined ? {} : { field }) });

const tooLarge = (field: string) =>
  new AppError({ code: 'too_large', message: `${field} exceeds ${RESULT_BYTES.durable} bytes`, field });
