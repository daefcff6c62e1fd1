import { toStorableText } from '#platform';

/** The reader of a result: the ledger, the model, or a screen. */
export type ResultAudience = 'durable' | 'model' | 'ui';

/** Maximum size of a result for each audience, in UTF-8 bytes, including the note about truncation. */
export const RESULT_BYTES: Readonly<Record<ResultAudience, number>> = {
  durable: 262_144,
  model: 131_072,
  ui: 32_768,
};

/**
 * Cuts a result to the size of its audience. A result that fits does not change; otherwise it is cut at a character and ends with
 * `\n[truncated, <N> bytes in total]`, all within the limit. N is the size of the complete text, even if the text was cut for a larger
 * audience before; `totalBytes` gives it if the text does not contain it. Unpaired surrogates and NUL, which Postgres rejects, become U+FFFD.
 */
export function projectResult(text: string, audience: ResultAudience, totalBytes?: number): string {
  const limit = RESULT_BYTES[audience];
  const clean = toStorableText(text);
  const bytes = Buffer.byteLength(clean);
  if (bytes <= limit) return clean;
  const { body, total } = wholeOf(clean, bytes);
  const note = `\n[truncated, ${totalBytes ?? total} bytes in total]`;
  return cutToBytes(body, limit - Buffer.byteLength(note)) + note;
}

/** The longest prefix of at most `limit` UTF-8 bytes that ends between characters. */
export function cutToBytes(text: string, limit: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= limit) return text;
  let end = Math.max(0, limit);
  // 10xxxxxx continues a character: step back to the first byte of a character
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end);
}

/** The end of a truncated text. The first line is present if the complete text is stored (`toKeptResult`). */
const NOTE = /(\n\[read on with read_tool_output [^\n]*\])?\n\[truncated, (\d{1,15}) bytes in total\]$/;
const MAX_NOTE_LENGTH = 2_000;

/** A durable text may already be truncated; then the size in its note counts. A plain cut leaves at most 3 bytes unused. */
function wholeOf(text: string, bytes: number): { readonly body: string; readonly total: number } {
  const isOfDurableSize = bytes <= RESULT_BYTES.durable && bytes > RESULT_BYTES.durable - 4;
  const note = NOTE.exec(text.slice(-MAX_NOTE_LENGTH));
  if (note === null || (note[1] === undefined && !isOfDurableSize)) return { body: text, total: bytes };
  return { body: text.slice(0, text.length - note[0].length), total: Math.max(bytes, Number(note[2])) };
}

/** Whether a result is a preview of a stored text that the model can page through. */
export function canReadOn(text: string): boolean {
  return NOTE.exec(text.slice(-MAX_NOTE_LENGTH))?.[1] !== undefined;
}
