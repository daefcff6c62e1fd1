import { type ArgumentMetadata, Injectable, type PipeTransform } from '@nestjs/common';
import { z } from 'zod';

import type { AppError } from '../../errors/app-error.js';
import { readInput } from '../../errors/field-problem.js';
import { invalidBody, invalidField, invalidParameter } from '../errors/http.errors.js';

/** The fault of an argument: the first invalid field (undefined: the argument as a whole) and its value. */
interface ArgumentProblem {
  readonly field: string | undefined;
  readonly value: unknown;
  /** The complete path of the field, such as `rules.0.action`. */
  readonly path: string;
  /** The end of a sentence that begins with the path, such as `must be a text`. */
  readonly text: string;
}

type Refuse = (problem: ArgumentProblem) => AppError;

const refusals = new WeakMap<z.ZodType, Refuse>();

/** Sets the error for arguments that the schema rejects, if a contract prescribes its message. */
export function refusedWith<T extends z.ZodType>(schema: T, refuse: Refuse): T {
  refusals.set(schema, refuse);
  return schema;
}

/** Parses a value with the schema. Throws the error that `refusedWith` set, by default `bad_request` with the invalid field. */
export function accept<T extends z.ZodType>(schema: T, value: unknown, refuse: Refuse = refuseBody): z.infer<T> {
  const read = readInput(schema, value);
  if ('data' in read) return read.data;
  const { path, field: wholePath, text } = read.problem;
  const [step] = path;
  const field = typeof step === 'string' ? step : undefined;
  const given: unknown = field === undefined ? value : Reflect.get(Object(value), field);
  throw (refusals.get(schema) ?? refuse)({ field, value: given, path: wholePath, text });
}

/**
 * Validates the arguments that a handler declares with `@Body({ schema })` or `@Query({ schema })`. Guards run before, so the caller is
 * authenticated and the size of the body is bounded.
 */
@Injectable()
export class RequestSchemaPipe implements PipeTransform {
  transform(value: unknown, { schema, type }: ArgumentMetadata): unknown {
    return schema instanceof z.ZodType ? accept(schema, value, type === 'query' ? refuseQuery : refuseBody) : value;
  }
}

const refuseBody: Refuse = ({ field, path, text }) =>
  field === undefined ? invalidBody() : invalidField(field, text, path);
const refuseQuery: Refuse = ({ field }) => invalidParameter(field ?? 'query');
