import { createHash } from 'node:crypto';

import { readArguments } from '../parse-arguments.js';
import { invalidHistoryFilter } from './history.errors.js';

type Step = string | number;
type Scalar = string | number | boolean | null;

/** A condition on arguments: the value at this path equals this value. Numbers compare as numbers, texts as texts. */
export interface ArgumentCondition {
  readonly path: readonly Step[];
  readonly value: Scalar;
}

/** Maximum number of indexed values of a call. Filters do not find later values. */
export const MAX_CONTENTS = 32;
const MAX_CONDITION_LENGTH = 1_000;
/** Longer contents are stored as a digest. */
const MAX_CONTENT_LENGTH = 200;

const STEP = /^(?:\.([^\s.[\]="]+)|\[(\d{1,9})\]|\[("(?:[^"\\]|\\.)*")\])/;

/**
 * Reads a condition such as `$.to = "x"`, `$.items[0].id = 7` or `$["odd name"] = true`: names and positions from the
 * arguments' root, then a JSON text, number, boolean or null. Throws `bad_request` for anything else.
 */
export function parseArgumentCondition(text: string): ArgumentCondition {
  const { path, rest } = takePath(text.length > MAX_CONDITION_LENGTH ? '' : text.trim());
  const value = rest.startsWith('=') ? toScalar(rest.slice(1)) : undefined;
  if (path.length === 0 || value === undefined) {
    throw invalidHistoryFilter('argument', 'argument must read like $.to = "x", with a text, number, boolean or null');
  }
  return { path, value };
}

/** The index entry that a condition looks for, in the format of `argumentContents`. */
export function argumentContent({ path, value }: ArgumentCondition): string {
  const text = JSON.stringify([...path, value]);
  return text.length <= MAX_CONTENT_LENGTH ? text : createHash('sha256').update(text).digest('base64');
}

/** The index entries of arguments, in the order of their text: every value that is not an object or array, with its path. At most 32. */
export function argumentContents(args: string): string[] {
  const parsed = readArguments(args);
  const contents: string[] = [];
  if (!parsed.ok) return contents;
  for (const found of leaves(parsed.value, [])) {
    if (contents.length === MAX_CONTENTS) break;
    contents.push(argumentContent(found));
  }
  return contents;
}

function* leaves(value: object, at: readonly Step[]): Generator<ArgumentCondition> {
  for (const [name, member] of Object.entries(value) as [string, unknown][]) {
    const path = [...at, Array.isArray(value) ? Number(name) : name];
    if (typeof member === 'object' && member !== null) yield* leaves(member, path);
    else if (isScalar(member)) yield { path, value: member };
  }
}

/** 1e400 is valid JSON, but its number cannot be written as JSON. */
function isScalar(value: unknown): value is Scalar {
  return typeof value === 'number'
    ? Number.isFinite(value)
    : value === null || ['string', 'boolean'].includes(typeof value);
}

function takePath(text: string): { readonly path: readonly Step[]; readonly rest: string } {
  const path: Step[] = [];
  let rest = text.startsWith('$') ? text.slice(1) : '';
  for (let step = STEP.exec(rest); step !== null; step = STEP.exec(rest)) {
    const [whole, name, position, quoted] = step;
    if (quoted !== undefined) path.push(String(toScalar(quoted)));
    else path.push(position === undefined ? String(name) : Number(position));
    rest = rest.slice(whole.length);
  }
  return { path, rest: rest.trimStart() };
}

/** Undefined: the text is not JSON, or not a value that a condition can have. */
function toScalar(json: string): Scalar | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return isScalar(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
