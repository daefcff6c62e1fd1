import { JsonScan } from './json-scan.js';

/** Far above what programs write. */
const limits = { depth: 1_000, tokens: 1_000_000 } as const;

/**
 * `JSON.parse` for a text from outside that may be large. Also throws a SyntaxError for a text that is nested more than 1,000 levels deep, or has more
 * than a million texts, arrays, objects, commas and colons: the parser needs 0.8 s for 8 MB of brackets, 0.02 s of which the check needs.
 */
export function parseJson(text: string): unknown {
  const exceeded = text.length <= limits.depth ? null : new JsonScan(limits).push(Buffer.from(text));
  if (exceeded === 'depth') throw new SyntaxError(`JSON is nested more than ${limits.depth} levels deep`);
  if (exceeded === 'tokens') throw new SyntaxError(`JSON has more than ${limits.tokens} tokens`);
  return JSON.parse(text);
}
