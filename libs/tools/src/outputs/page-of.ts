/** A part of a text, cut anywhere. Counts are UTF-16 code units. */
export interface TextPart {
  readonly text: string;
  /** Where in the whole it begins. */
  readonly from: number;
  /** How long the whole is. */
  readonly total: number;
}

/**
 * A page of a text and where it stands. It neither begins nor ends within a character. `part` holds the page and, where there
 * is one, a unit more at either end.
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
