import { oneLine } from '../terminal/plain-text.js';
import type { Screen, Style } from '../terminal/screen.js';
import type { Action, Difference, FieldChange } from './difference.js';
import type { Resource } from './resource.js';

const signs: Readonly<Record<Action, readonly [sign: string, style: Style]>> = {
  create: ['+', 'green'],
  change: ['~', 'yellow'],
  unchanged: ['=', 'dim'],
};
const LONGEST_VALUE = 60;
/** More changed fields of one file are counted, not listed. */
const MOST_FIELDS = 20;

/** `the tool get_weather`, `the approval policy`. */
export function titleOf({ kind, key }: Resource): string {
  return kind === 'policy' ? 'the approval policy' : `the ${kind} ${oneLine(key)}`;
}

/** One line for a file, and one for each field that changes. */
export function showDifference(screen: Screen, resource: Resource, { action, fields }: Difference): void {
  const [sign, style] = signs[action];
  const head = `${sign} ${action.padEnd(9)} ${titleOf(resource)}`;
  screen.line(`${screen.ink(style, head)}  ${screen.ink('dim', resource.file)}`);
  for (const field of fields.slice(0, MOST_FIELDS)) screen.line(`    ${showField(field)}`);
  if (fields.length > MOST_FIELDS) screen.line(`    and ${fields.length - MOST_FIELDS} more fields`);
}

function showField({ path, before, after }: FieldChange): string {
  return `${oneLine(path)}: ${showValue(before)} → ${showValue(after)}`;
}

function showValue(value: unknown): string {
  if (value === undefined) return '(none)';
  const text = oneLine(JSON.stringify(value));
  return text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}…` : text;
}
