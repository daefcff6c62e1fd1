import type { SubflowInput } from '../definition/document.js';
import type { JsonObject } from '../definition/json.js';
import { memberOf } from '../definition/json.js';
import { fillJson, type Lookup } from '../definition/template.js';

/** What a subflow is given. */
export interface SubflowGiven {
  readonly values: ReadonlyMap<string, unknown>;
  /** The user text of the subflow: the first declared input, else the node's input. */
  readonly text: string;
  /** Required ones that have neither a mapping nor a default. */
  readonly missing: readonly string[];
}

/** Reads the mappings of a subflow node. Throws `too_large` for one that is filled beyond all bounds. */
export function subflowInputs(
  declared: readonly SubflowInput[],
  mappings: JsonObject,
  { input, lookup }: { readonly input: string; readonly lookup: Lookup },
): SubflowGiven {
  const values = new Map<string, unknown>();
  const missing: string[] = [];
  for (const { id, required, default: preset } of declared) {
    const mapping = memberOf(mappings, id);
    const value = mapping === undefined ? preset : fillJson(mapping, lookup);
    if (value !== undefined) values.set(id, value);
    else if (required) missing.push(id);
  }
  const first = values.get(declared[0]?.id ?? '');
  return { values, missing, text: first === undefined ? input : toText(first) };
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
