/** Fields of a delta that carry text. */
export type TextField = 'content' | 'reasoning_content' | 'reasoning';

const QUOTE = 34;
const BACKSLASH = 92;

/**
 * A shortcut past JSON.parse for the chunks that make up nearly all of a stream: those that differ from an earlier one in
 * nothing but the text. If `head + string + tail` was one JSON document and only the string is another one, then so is the
 * new document, and all its other members are the same; so it is enough to compare head and tail and to read the string.
 */
export class TextTemplate {
  /** The block has no backslash from here … */
  private searchedFrom = 0;
  /** … to here, where the next one is: so each block is searched for it once. Blocks may be alike. */
  private backslashAt = -1;
  private block = '';

  private constructor(
    readonly field: TextField,
    private readonly head: string,
    private readonly tail: string,
  ) {}

  /**
   * Learns from a chunk that was parsed and carries `field` of its only choice and nothing else that matters. `probe` parses a
   * document and returns that member, to prove that the string found is the right one. Undefined when it is not.
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

  /** The text of the document between `start` and `end` of `block`. Undefined: the block differs outside of this text. */
  read(block: string, start: number, end: number): string | undefined {
    const from = start + this.head.length;
    const to = end - this.tail.length;
    // Measured: comparing slices is nine times as fast as startsWith on strings of this length.
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
