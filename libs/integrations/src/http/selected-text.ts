import type { Selection } from './select-json.js';

/** The maximum size of a response, in UTF-16 code units: overlapping paths must not enlarge it. */
const MAX_LENGTH = 8_388_608;

/**
 * The text of a selection for the model: a text unchanged, any other single value as JSON, and several values as a JSON list. If the
 * selection is truncated, the last line says so. Throws for values that are nested too deep for JSON.stringify.
 */
export function selectedText({ found, isSingular, isCut }: Selection, longest = MAX_LENGTH): string {
  if (isSingular) {
    const [value] = found;
    return typeof value === 'string' ? value : JSON.stringify(value ?? null);
  }
  const parts: string[] = [];
  let length = '[]'.length;
  for (const value of found) {
    const part = JSON.stringify(value);
    length += part.length + ','.length;
    if (length > longest) break;
    parts.push(part);
  }
  const list = `[${parts.join(',')}]`;
  if (parts.length < found.length) return `${list}\n[cut: the first ${parts.length} of ${found.length} found]`;
  return isCut ? `${list}\n[cut: the first ${parts.length} found]` : list;
}
