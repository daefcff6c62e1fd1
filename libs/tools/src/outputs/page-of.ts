/** A part of a text, cut at any position. Counts are UTF-16 code units. */
export interface TextPart {
  readonly text: string;
  /** The offset of the part in the complete text. */
  readonly from: number;
  /** The length of the complete text. */
  readonly total: number;
}

/**
 * Renders a page of a text with its position. The page neither begins nor ends within a character, so `part` must contain one more code unit
 * at each end, if it exists.
 */
export function pageOf(part: TextPart, offset: number, length: number): string {
  const { text, from, total } = part;
  if (offset >= total) return `[nothing after ${total} characters]`;
  const start = isWithin(part, offset) ? offset - 1 : offset;
  const wanted = Math.min(total, offset + length);
  const end = isWithin(part, wanted) ? wanted + 1 : wanted;
  const place = `characters ${start} to ${end} of ${total}`;
  const page = text.slice(start - from, end - from);
  return `${page}\n[${end < total ? `${place}, continue at offset ${end}` : `${place}, the end`}]`;
}

/** Between the halves of a surrogate pair. */
function isWithin({ text, from }: TextPart, at: number): boolean {
  const i = at - from;
  return i > 0 && i < text.length && /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(i - 1, i + 1));
}
