/** A part of an assistant message: its own text, or the position of a call that was shown in a block with its id. */
export type AnswerPiece =
  { readonly type: 'text'; readonly text: string } | { readonly type: 'call'; readonly id: string };

const inlineStart = /^<tool id="\d{1,9}" state="(?:start|done)">/;
const inlineEnd = '</tool>';
const detailsStart = /^<details type="tool_calls"(?: [a-z_-]+="[^"<>]*")*>$/;
const detailsId = / id="([^"<>]*)"/;
const summary = /^<summary>[^<]*<\/summary>$/;
const detailsEnd = '</details>';

/**
 * Removes the blocks that show tool calls from a text, if they have their own lines. The remaining text contains no block, even if one
 * block was inside another. Reads each line a bounded number of times. Pure.
 */
export function splitBlocks(text: string): readonly AnswerPiece[] {
  if (!text.includes(inlineEnd) && !text.includes(detailsEnd)) return text === '' ? [] : [{ type: 'text', text }];
  const kept = new KeptLines();
  for (const line of text.split('\n')) {
    if (!kept.closesDetails(line) && !kept.closesInline(line)) kept.push(line);
  }
  return kept.pieces();
}

/** The text without its blocks. Pure. */
export function withoutBlocks(text: string): string {
  return splitBlocks(text)
    .map((piece) => (piece.type === 'text' ? piece.text : ''))
    .filter((piece) => piece !== '')
    .join('\n');
}

/** The remaining lines, and the positions of removed blocks. */
class KeptLines {
  private lines: string[] = [];
  /** `at`: the number of lines before the block. */
  private calls: { readonly at: number; readonly id: string }[] = [];
  /** The indexes of lines with a `<`. A block that ends now can only begin in the last of them, because all other `<` are escaped. */
  private readonly marked: number[] = [];

  push(line: string): void {
    if (line.includes('<')) this.marked.push(this.lines.length);
    this.lines.push(line);
  }

  /** Whether the line ends a block. If so, removes that block. */
  closesDetails(line: string): boolean {
    if (line !== detailsEnd || !summary.test(this.lines.at(-1) ?? '')) return false;
    const start = this.lines.length - 2;
    const first = this.lines[start] ?? '';
    if (!detailsStart.test(first)) return false;
    this.cut(start);
    this.calls.push({ at: start, id: unescapeText(detailsId.exec(first)?.[1] ?? '') });
    return true;
  }

  closesInline(line: string): boolean {
    if (!line.endsWith(inlineEnd)) return false;
    const before = line.slice(0, -inlineEnd.length).lastIndexOf('<');
    if (before !== -1) return before === 0 && inlineStart.test(line);
    const start = this.marked.at(-1);
    const first = start === undefined ? undefined : this.lines[start];
    if (start === undefined || first?.lastIndexOf('<') !== 0 || !inlineStart.test(first)) return false;
    this.cut(start);
    return true;
  }

  pieces(): readonly AnswerPiece[] {
    const pieces: AnswerPiece[] = [];
    let from = 0;
    for (const { at, id } of [...this.calls, { at: this.lines.length, id: null }]) {
      const text = this.lines.slice(from, at).join('\n');
      if (text !== '') pieces.push({ type: 'text', text });
      if (id !== null) pieces.push({ type: 'call', id });
      from = at;
    }
    return pieces;
  }

  private cut(length: number): void {
    this.lines.length = length;
    while ((this.marked.at(-1) ?? -1) >= length) this.marked.pop();
    while ((this.calls.at(-1)?.at ?? -1) > length) this.calls.pop();
  }
}

const characters: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#x27;': "'",
};

function unescapeText(text: string): string {
  return text.replace(/&(?:amp|lt|gt|quot|#x27|#\d{1,4});/g, (escaped) => characters[escaped] ?? numbered(escaped));
}

/** `&#10;` */
function numbered(escaped: string): string {
  return String.fromCharCode(Number(escaped.slice(2, -1)));
}
