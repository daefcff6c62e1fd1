import { parseJson } from '#platform';

import { refusal } from './to-node-error.js';

/**
 * Converts a JSON value to the text that nodes exchange: texts stay as they are, other values become JSON. Throws for a value that is nested too
 * deep.
 */
export function jsonText(value: unknown): string {
  if (typeof value === 'string') return value;
  try {
    return JSON.stringify(value);
  } catch {
    throw refusal('Invalid value: it is nested too deep');
  }
}

/** Parses a text as JSON; a text that is not JSON is returned unchanged. */
export function textOrJson(text: string): unknown {
  if (!/^\s*["[{\dtfn-]/.test(text)) return text; // most texts are not JSON, and a failed parse is expensive
  try {
    const value: unknown = parseJson(text);
    return value;
  } catch {
    return text;
  }
}
