import { parseJsonPath, selectedText, selectJson } from '#integrations';

import { refusal } from './to-node-error.js';

/** The part of a JSON text that a JSONPath selects, as text. Throws when the path matches nothing or the text is not JSON. */
export function selectFromText(text: string, select: string): string {
  const path = parseJsonPath(select);
  if (typeof path === 'string') throw refusal(`Invalid JSON path "${select}": ${path}`);
  try {
    const root: unknown = JSON.parse(text);
    return selectedText(selectJson(path, root));
  } catch {
    throw refusal('Invalid answer: nothing can be selected from it, it is not JSON, or nested too deep');
  }
}
