import type { Selection } from './select-json.js';

/** As much as an answer may have: paths that overlap must not make more of it than it was. In UTF-16 code units. */
const LONGEST = 8_388_608;

/**
 * What the model reads of a selection: a text as it is, any other single value as JSON, and several as a list in JSON. If the
 * selection was cut, a last line states it. Throws for values that are nested too deep to be written.
 */
export function selectedText({ found, isSingular, isCut }: Selection, longest = LONGEST): string {
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
