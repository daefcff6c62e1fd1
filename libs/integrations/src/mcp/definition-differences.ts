import { canonicalJson } from '#tools';

import type { McpDefinition } from './mcp-definition.js';

/** A member with different values. Values are JSON text; null: the member is absent. */
export interface DefinitionDifference {
  /** Members joined by `.`, as in `inputSchema.properties.path.description`. */
  readonly path: string;
  readonly accepted: string | null;
  readonly current: string | null;
}

const MAX_SHOWN = 50;
const MAX_VALUE_LENGTH = 4_000;

/** The differences of two definitions, at the deepest members that differ; the first 50. Empty if they are equal. */
export function differencesOf(accepted: McpDefinition, current: McpDefinition): readonly DefinitionDifference[] {
  const found: DefinitionDifference[] = [];
  collect('', [accepted, current], found);
  return found;
}

function collect(path: string, [before, after]: readonly [unknown, unknown], found: DefinitionDifference[]): void {
  if (found.length >= MAX_SHOWN || textOf(before) === textOf(after)) return;
  if (!isRecord(before) || !isRecord(after)) {
    found.push({ path, accepted: shown(before), current: shown(after) });
    return;
  }
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    collect(path === '' ? key : `${path}.${key}`, [own(before, key), own(after, key)], found);
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function own(value: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

/** A missing value differs from null. */
function textOf(value: unknown): string | null {
  return value === undefined ? null : canonicalJson(value);
}

function shown(value: unknown): string | null {
  const text = textOf(value);
  return text === null || text.length <= MAX_VALUE_LENGTH ? text : `${text.slice(0, MAX_VALUE_LENGTH)}…`;
}
