/** An escape sequence and its decoded text. `null`: the text ends within the sequence. */
interface Token {
  readonly length: number;
  readonly text: string;
  /** A byte of UTF-8, which may be a part of a character. */
  readonly byte?: number;
}

const SPECIAL = /[\\%&]/g;
const BACKSLASH = /\\+(?:u([0-9a-f]{4})|u\{([0-9a-f]{1,6})\}|x([0-9a-f]{2})|([0-3][0-7]{2})|([^%&]))/iy;
const BACKSLASH_CUT = /\\+(?:u[0-9a-f]{0,3}|u\{[0-9a-f]{0,6}|x[0-9a-f]?|[0-3][0-7]?)?$/iy;
const PERCENT = /%(?:25){0,16}([0-9a-f]{2})/iy;
const PERCENT_CUT = /%(?:25){0,17}[0-9a-f]?$/iy;
const ENTITY = /&(?:amp;){0,16}(?:#([0-9]{1,7})|#x([0-9a-f]{1,6})|(amp|lt|gt|quot|apos));/iy;
const ENTITY_CUT = /&(?:amp;){0,16}(?:#[0-9]{0,7}|#x[0-9a-f]{0,6}|[a-z]{0,4})$/iy;
const CONTROLS: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' };
const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/**
 * A text with decoded escapes: those of JSON and of most programming languages (`\n`, `\/`, `\u0073`, `\u{73}`, `\x73`, `\163`) after any
 * number of backslashes, as in JSON within JSON; percent-encoding (UTF-8, also encoded repeatedly); and character references of HTML.
 * Backslashes themselves are left out in any notation. One pass.
 */
export class DecodedText {
  private text = '';
  /** The beginning of each piece, in this text and in the source. In a literal piece, code units correspond one to one. */
  private readonly here: number[] = [];
  private readonly source: number[] = [];
  private readonly literal: boolean[] = [];
  private bytes: { readonly value: number; readonly at: number }[] = [];
  /** The end of the source, or the beginning of an escape that is cut off there. */
  readonly end: number;

  private constructor(from: string) {
    let at = 0;
    let end = from.length;
    for (SPECIAL.lastIndex = 0; at < from.length;) {
      SPECIAL.lastIndex = at;
      const next = SPECIAL.exec(from)?.index ?? from.length;
      if (next > at) this.add(from.slice(at, next), at, true);
      if (next === from.length) break;
      const token = tokenAt(from, next);
      if (token === null) {
        end = next;
        break;
      }
      if (token.byte === undefined) this.add(token.text, next, false);
      else this.addByte(token.byte, next);
      at = next + token.length;
    }
    this.end = this.flush(true) ?? end;
  }

  /** Returns null if the text contains no escapes. */
  static of(text: string): DecodedText | null {
    SPECIAL.lastIndex = 0;
    return SPECIAL.test(text) ? new DecodedText(text) : null;
  }

  get value(): string {
    return this.text;
  }

  /** The position in the source for a position in the text; for the end of the text, `end`. */
  toSource(place: number): number {
    if (place >= this.text.length) return this.end;
    let [low, high] = [0, this.here.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.here[middle] ?? 0) <= place) low = middle;
      else high = middle - 1;
    }
    const start = this.source[low] ?? 0;
    return this.literal[low] === true ? start + place - (this.here[low] ?? 0) : start;
  }

  private add(text: string, at: number, isLiteral: boolean): void {
    this.flush(false);
    this.put(text, at, isLiteral);
  }

  private put(text: string, at: number, isLiteral: boolean): void {
    if (text === '' || text === '\\') return;
    this.here.push(this.text.length);
    this.source.push(at);
    this.literal.push(isLiteral);
    this.text += text;
  }

  private addByte(value: number, at: number): void {
    if (value >= 0x80) {
      this.bytes.push({ value, at });
      return;
    }
    this.add(String.fromCharCode(value), at, false);
  }

  /** Decodes the buffered bytes as UTF-8, and invalid ones as Latin-1. Returns the start of an incomplete sequence at the end. */
  private flush(isEnd: boolean): number | undefined {
    const { bytes } = this;
    if (bytes.length === 0) return undefined;
    this.bytes = [];
    for (let i = 0; i < bytes.length;) {
      const [first] = bytes.slice(i, i + 1);
      if (first === undefined) break;
      const length = first.value >= 0xf0 ? 4 : first.value >= 0xe0 ? 3 : first.value >= 0xc2 ? 2 : 1;
      const sequence = bytes.slice(i, i + length).map(({ value }) => value);
      if (isEnd && sequence.length < length) return first.at;
      const read = Buffer.from(sequence).toString();
      const isUtf8 = length > 1 && !read.includes('\ufffd');
      this.put(isUtf8 ? read : String.fromCharCode(first.value), first.at, false);
      i += isUtf8 ? length : 1;
    }
    return undefined;
  }
}

function tokenAt(text: string, at: number): Token | null {
  const sign = text[at];
  if (sign === '\\') return backslashAt(text, at);
  const [shape, cut] = sign === '%' ? [PERCENT, PERCENT_CUT] : [ENTITY, ENTITY_CUT];
  if (matchAt(cut, text, at) !== null) return null;
  const found = matchAt(shape, text, at);
  if (found === null) return { length: 1, text: sign ?? '' };
  const [whole, first = '', hex, name] = found;
  if (sign === '%') return { length: whole.length, text: '', byte: Number.parseInt(first, 16) };
  if (name !== undefined) return { length: whole.length, text: NAMED[name.toLowerCase()] ?? '' };
  return { length: whole.length, text: unitOf(hex === undefined ? Number(first) : Number.parseInt(hex, 16)) };
}

function backslashAt(text: string, at: number): Token | null {
  if (matchAt(BACKSLASH_CUT, text, at) !== null) return null;
  const found = matchAt(BACKSLASH, text, at);
  if (found === null) return { length: 1, text: '' };
  const [whole, short, braced, byte, octal, other = ''] = found;
  const length = whole.length;
  const unit = short ?? braced;
  if (unit !== undefined) return { length, text: unitOf(Number.parseInt(unit, 16)) };
  if (byte !== undefined) return { length, text: '', byte: Number.parseInt(byte, 16) };
  if (octal !== undefined) return { length, text: '', byte: Number.parseInt(octal, 8) };
  return { length, text: CONTROLS[other] ?? other };
}

function matchAt(shape: RegExp, text: string, at: number): RegExpExecArray | null {
  shape.lastIndex = at;
  return shape.exec(text);
}

function unitOf(code: number): string {
  return code > 0x10ffff ? '' : String.fromCodePoint(code);
}
