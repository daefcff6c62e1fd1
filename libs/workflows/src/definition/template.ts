import { filledTooLong } from './definition.errors.js';
import { isJsonObject } from './json.js';
import { LIMITS } from './limits.js';

/** A text with placeholders, read once. */
export interface Template {
  readonly parts: readonly (string | Placeholder)[];
}

interface Placeholder {
  readonly name: string;
  /** Braces and all. */
  readonly written: string;
}

/** What a name stands for; undefined: nothing is known by it. */
export type Lookup = (name: string) => unknown;

/** What placeholders may name. */
export interface TemplateValues {
  /** The node's own input. */
  readonly input: string;
  /** By node id, `<node>:<branch>` and `<id>_error`. */
  readonly outputs: ReadonlyMap<string, string>;
  /** Of the subflow the node is in. */
  readonly inputs: ReadonlyMap<string, unknown>;
  readonly sessionId: string;
}

// A start is two braces and nothing behind it may be one, so no character is looked at more than a few times.
const placeholder = /\{\{ *([A-Za-z0-9_.:-]+) *\}\}/g;

export function parseTemplate(text: string): Template {
  const parts: (string | Placeholder)[] = [];
  let end = 0;
  for (const match of text.matchAll(placeholder)) {
    const [written, name = ''] = match;
    if (match.index > end) parts.push(text.slice(end, match.index));
    parts.push({ name, written });
    end = match.index + written.length;
  }
  if (end < text.length) parts.push(text.slice(end));
  return { parts };
}

/** The names it has placeholders for, each once. */
export function namesIn(template: Template): readonly string[] {
  return [...new Set(template.parts.flatMap((part) => (typeof part === 'string' ? [] : [part.name])))];
}

/** The names of a run: `input`, `output`, `outputs.<id>`, `inputs.<id>`, `context.sessionId`, or the key of an output. */
export function lookupIn({ input, outputs, inputs, sessionId }: TemplateValues): Lookup {
  return (name) => {
    if (name === 'input' || name === 'output') return input;
    if (name === 'context.sessionId') return sessionId;
    if (name.startsWith('outputs.')) return outputs.get(name.slice('outputs.'.length)) ?? '';
    if (name.startsWith('inputs.')) return inputs.get(name.slice('inputs.'.length));
    return outputs.get(name);
  };
}

/**
 * Returns the text with every known name replaced; an unknown name stays as it is. Inserted text is not searched again. Values other than texts are
 * inserted as JSON. Throws `too_large` beyond 4 Mi characters.
 */
export function fillText(template: Template, lookup: Lookup): string {
  return textOf(template, measured(lookup));
}

/**
 * Fills every text in a JSON value. A text that consists of exactly one placeholder becomes the value itself, of any
 * type. Member names are not filled. Throws `too_large` when the JSON text would exceed 4 Mi characters.
 */
export function fillJson(value: unknown, lookup: Lookup): unknown {
  return filled(value, measured(lookup));
}

/** One member per level of the definition, which is not deep. */
function filled(value: unknown, insert: Insert): unknown {
  if (typeof value === 'string') return valueOf(parseTemplate(value), insert);
  if (Array.isArray(value)) return value.map((item) => filled(item, insert));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, filled(member, insert)]));
}

function valueOf(template: Template, insert: Insert): unknown {
  const [only, ...others] = template.parts;
  if (only === undefined || typeof only === 'string' || others.length > 0) return textOf(template, insert);
  const inserted = insert(only);
  return inserted === null ? only.written : inserted.value;
}

function textOf({ parts }: Template, insert: Insert): string {
  return parts.map((part) => (typeof part === 'string' ? part : (insert(part)?.text ?? part.written))).join('');
}

interface Inserted {
  readonly value: unknown;
  readonly text: string;
}
type Insert = (part: Placeholder) => Inserted | null;

/** Resolves every name once and counts the inserted characters: a short text can name a long value a thousand times. */
function measured(lookup: Lookup): Insert {
  const known = new Map<string, Inserted | null>();
  let length = 0;
  return ({ name }) => {
    const found = known.get(name) ?? toInserted(lookup(name));
    known.set(name, found);
    length += found?.text.length ?? 0;
    if (length > LIMITS.filledLength) throw filledTooLong(LIMITS.filledLength);
    return found;
  };
}

function toInserted(value: unknown): Inserted | null {
  if (value === undefined) return null;
  return { value, text: typeof value === 'string' ? value : JSON.stringify(value) };
}
