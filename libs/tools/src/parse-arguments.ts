import { MAX_ARGUMENT_BYTES } from '#models';

import { inexactJson } from './inexact-json.js';

/** A JSON object from a model. It has plain own members, and none is named `__proto__`. */
export type JsonObject = Readonly<Record<string, unknown>>;

export type ParsedArguments =
  { readonly ok: true; readonly value: JsonObject } | { readonly ok: false; readonly problem: string };

/** Maximum nesting of objects and arrays in arguments: far above what tools use, far below what overflows the stack. */
export const MAX_ARGUMENT_DEPTH = 64;

/**
 * Parses a model's argument text for decisions, hashes and runs. An empty text means `{}`; in a text that was cut off, only open quotes and
 * brackets are closed. Rejects a text that would change when it is serialized again (`inexactJson`), so that the person approves, and the
 * tool gets, exactly what the model wrote. `problem` is a clause without a full stop.
 */
export function parseArguments(text: string): ParsedArguments {
  return read(text, inexactJson);
}

/** Parses arguments that are only displayed or searched: inexact numbers appear as rounded doubles. */
export function readArguments(text: string): ParsedArguments {
  return read(text, () => undefined);
}

function read(text: string, problemIn: (json: string) => string | undefined): ParsedArguments {
  if (Buffer.byteLength(text) > MAX_ARGUMENT_BYTES) return no(`arguments exceed ${MAX_ARGUMENT_BYTES} bytes`);
  const json = text.trim() === '' ? '{}' : text;
  const whole = parse(json);
  const completed = whole === undefined ? closeJson(json) : json;
  const value = whole ?? parse(completed);
  if (value === undefined) return no('arguments are not valid JSON');
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return no('arguments must be a JSON object');
  if (!dropProtoMembers(value, MAX_ARGUMENT_DEPTH))
    return no(`arguments are nested more than ${MAX_ARGUMENT_DEPTH} levels deep`);
  const problem = problemIn(completed);
  return problem === undefined ? { ok: true, value: { ...value } } : no(problem);
}

/** The text with its open strings, arrays and objects closed; the same text if nothing is open. */
export function closeJson(text: string): string {
  const open: string[] = [];
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const char = text[i];
    if (inString && char === '\\') i++;
    else if (char === '"') inString = !inString;
    else if (inString) continue;
    else if (char === '{') open.push('}');
    else if (char === '[') open.push(']');
    else if (char === '}' || char === ']') open.pop();
  }
  return text + (inString ? '"' : '') + open.reverse().join('');
}

function no(problem: string): ParsedArguments {
  return { ok: false, problem };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) ?? null;
  } catch {
    return undefined;
  }
}

/** Removes `__proto__` members, which an assignment would turn into a prototype. Returns false if the nesting is too deep. */
function dropProtoMembers(value: object, levels: number): boolean {
  if (levels === 0) return false;
  if (Object.hasOwn(value, '__proto__')) Reflect.deleteProperty(value, '__proto__');
  return Object.values(value).every(
    (v: unknown) => typeof v !== 'object' || v === null || dropProtoMembers(v, levels - 1),
  );
}
