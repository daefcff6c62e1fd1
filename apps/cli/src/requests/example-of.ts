import { oneLine } from '../terminal/plain-text.js';

type Schema = Readonly<Record<string, unknown>>;

const LONGEST = 200;
const values: Readonly<Record<string, string>> = {
  number: '0',
  integer: '0',
  boolean: 'true',
  array: '[]',
  object: '{}',
  null: 'null',
};

/** An example answer to a form: `{"to": "…", "size": "S|M|L"}`; for a text, and where it does not fit on a line, `…`. */
export function exampleOf(schema: unknown): string {
  if (!isSchema(schema)) return '…';
  const { type, properties } = schema;
  if (type === 'string') return '…';
  if (!isSchema(properties)) return typeof type === 'string' ? valueOf(schema) : '…';
  const members = Object.entries(properties).map(([name, field]) => `${JSON.stringify(name)}: ${valueOf(field)}`);
  const example = oneLine(`{${members.join(', ')}}`);
  return example.length > LONGEST ? '…' : example;
}

function valueOf(field: unknown): string {
  const { type, enum: choices } = isSchema(field) ? field : {};
  const texts = Array.isArray(choices) ? choices.filter((choice) => typeof choice === 'string') : [];
  if (texts.length > 0) return JSON.stringify(texts.join('|'));
  return (typeof type === 'string' ? values[type] : undefined) ?? '"…"';
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
