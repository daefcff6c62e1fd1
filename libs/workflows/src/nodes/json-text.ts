import { refusal } from './to-node-error.js';

/** A JSON value as nodes hand it on: a text as it is, anything else as JSON. Throws for what is nested too deep to be written. */
export function jsonText(value: unknown): string {
  if (typeof value === 'string') return value;
  try {
    return JSON.stringify(value);
  } catch {
    throw refusal('Invalid value: it is nested too deep');
  }
}

/** The value that a text is JSON of; a text that is none is a text. */
export function textOrJson(text: string): unknown {
  if (!/^\s*["[{\dtfn-]/.test(text)) return text; // most texts are none, and failing to read them is dear
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return text;
  }
}
