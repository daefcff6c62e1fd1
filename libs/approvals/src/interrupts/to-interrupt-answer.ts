import { AppError, defined, toStorable } from '#platform';
import { RESULT_BYTES } from '#tools';

import type { DecidedKind, InterruptAnswer } from './interrupt-deciders.js';
import { invalidAnswer, invalidField } from './interrupts.errors.js';

const longestReason = 500;
const longestWord = 256;

/**
 * Parses the decision that a caller sent: it checks the type and size of each present field, treats null as absent, and drops unknown fields.
 * It does not check whether the kind of request allows a field. Throws `bad_request`, `too_large` and `not_storable`, naming the field.
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
  new AppError({ code: 'bad_request', message: 'Invalid request body', ...defined({ field }) });

const tooLarge = (field: string) =>
  new AppError({ code: 'too_large', message: `${field} exceeds ${RESULT_BYTES.durable} bytes`, field });

type AnswerField = keyof InterruptAnswer;

interface AnswerFields {
  /** The field that holds the decision or action. */
  readonly word: 'decision' | 'action';
  /** Fields allowed with every decision. */
  readonly always: readonly AnswerField[];
  /** Fields allowed with one decision. */
  readonly only: Readonly<Partial<Record<AnswerField, string>>>;
}

const answerFields: Readonly<Record<DecidedKind, AnswerFields>> = {
  tool_approval: {
    word: 'decision',
    always: ['argumentsHash', 'reason'],
    only: { arguments: 'approve', grantMinutes: 'approve' },
  },
  human_input: { word: 'action', always: ['data', 'reason'], only: {} },
  wait: { word: 'action', always: ['data', 'reason'], only: {} },
  unknown_outcome: { word: 'decision', always: ['reason'], only: { result: 'happened' } },
  provider_unavailable: { word: 'decision', always: ['reason'], only: {} },
  plugin_missing: { word: 'decision', always: ['reason'], only: {} },
};

/**
 * Throws `bad_request`, naming the field, if the body has a field that its kind or its decision does not allow: without the field, the
 * request would be settled differently from what the caller intended. `issues` lists the allowed fields. The decider of the kind handles a
 * missing decision or action.
 */
export function assertAnswerFields(kind: DecidedKind, answer: InterruptAnswer): void {
  const { word, always, only } = answerFields[kind];
  const decided = answer[word];
  if (decided === undefined) return;
  const own = Object.entries(only).filter(([, needed]) => needed === decided);
  const takes: readonly string[] = [word, ...always, ...own.map(([field]) => field)];
  const extra = Object.keys(answer).find((field) => !takes.includes(field));
  if (extra === undefined) return;
  const about = extra in only ? `${word} ${decided}` : `an answer to ${kind}`;
  throw invalidField(extra, `${extra} is not a field of ${about}`, takes);
}
