import { oneLine } from '../terminal/plain-text.js';

/** JSON text of a call's arguments in a line, as one would say them: `expression: "17 * 23", digits: 2`. */
export function showArguments(text: string): string {
  const value = parsed(text);
  if (value === undefined) return oneLine(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return oneLine(JSON.stringify(value));
  return oneLine(
    Object.entries(value)
      .map(([name, member]) => `${name}: ${JSON.stringify(member)}`)
      .join(', '),
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
