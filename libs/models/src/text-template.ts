/** Fields of a delta that carry text. */
export type TextField = 'content' | 'reasoning_content' | 'reasoning';

const QUOTE = 34;
const BACKSLASH = 92;

/**
 * Reads the text of a chunk without JSON.parse, if the chunk differs from an earlier one only in that text; nearly all chunks of a stream do. If
 * `head + string + tail` was a JSON document, then a document with the same head and tail and another string is one too, and its other members are
 * the same. So it suffices to compare head and tail, and to read the string.
 */
export class TextTemplate {
  /** `block` has no backslash from here to `backslashAt`. */
  private searchedFrom = 0;
  /** The position of the next backslash: each block is searched only once for it. Two blocks may be equal. */
  private backslashAt = -1;
  private block = '';

  private constructor(
    readonly field: TextField,
    private readonly head: string,
    private readonly tail: string,
  ) {}

  /**
   * Learns the template of a parsed chunk whose only relevant content is `field` of its only choice. `probe` parses a document and returns that
   * member; it proves that the found string is the right one. Returns undefined if it is not.
   */
  static learn(field: TextField, document: string, probe: (document: string) => unknown): TextTemplate | undefined {
    const key = new RegExp(`"${field}"\\s*:\\s*(?=")`).exec(document);
    if (key === null) return undefined;
    const start = key.index + key[0].length;
    const end = endOfString(document, start);
    if (end === -1) return undefined;
    const [head, tail] = [document.slice(0, start), document.slice(end)];
    const mark = '\u0001probe';
    return probe(head + JSON.stringify(mark) + tail) === mark ? new TextTemplate(field, head, tail) : undefined;
  }

  /** The text of the document between `start` and `end` of `block`. Undefined if the block differs from the template in more than this text. */
  read(block: string, start: number, end: number): string | undefined {
    const from = start + this.head.length;
    const to = end - this.tail.length;
    // Measured: comparing slices is nine times as fast as `startsWith` on strings of this length.
    if (to - from < 2 || block.slice(start, from) !== this.head || block.slice(to, end) !== this.tail) return undefined;
    if (block.charCodeAt(from) !== QUOTE || block.charCodeAt(to - 1) !== QUOTE) return undefined;
    if (this.nextBackslash(block, from) >= to)
      return block.indexOf('"', from + 1) === to - 1 ? block.slice(from + 1, to - 1) : undefined;
    return readString(block.slice(from, to));
  }

  private nextBackslash(block: string, from: number): number {
    if (block !== this.block || from < this.searchedFrom || this.backslashAt < from) {
      const found = block.indexOf('\\', from);
      this.block = block;
      this.searchedFrom = from;
      this.backslashAt = found === -1 ? Number.MAX_SAFE_INTEGER : found;
    }
    return this.backslashAt;
  }
}

function readString(token: string): string | undefined {
  try {
    const value: unknown = JSON.parse(token);
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The position after the closing quote of the string that opens at `start`. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === BACKSLASH) at++;
    else if (unit === QUOTE) return at + 1;
  }
  return -1;
}
