import { RE2JS } from 're2js';

/** A pattern of a stranger, compiled for an engine that reads a text in time linear in its length. */
export type LinearPattern = RE2JS;

/** Of patterns together: what one takes in, compiled, grows with what its counts multiply, and so does every character it reads. */
export const MOST_PATTERN_SIZE = 5_000;

/**
 * How many instructions a pattern compiles to, roughly and rather too many: from its text, since `a{1000}a{1000}…` is short,
 * and is thousands of them once it is compiled. Linear in its length, whether or not it is a pattern.
 */
export function patternSize(pattern: string): number {
  if (pattern.length > MOST_PATTERN_SIZE) return pattern.length;
  const outer: Piece[] = [];
  let piece: Piece = START;
  for (const token of tokensOf(pattern)) {
    if (token.text === '(') {
      outer.push(piece);
      piece = START;
    } else if (token.text === ')') piece = add(outer.pop() ?? START, piece.size, piece.size);
    else if (token.repeats === null) piece = add(piece, token.text.length, 1);
    else piece = repeat(piece, token.repeats);
  }
  return [...outer, piece].reduce((sum, { size }) => sum + size, 0);
}

/** The inside of a group as far as it was read. */
interface Piece {
  readonly size: number;
  /** Of it, what a repetition that comes next would repeat. */
  readonly last: number;
}

const START: Piece = { size: 2, last: 0 };

/** A class is one instruction wherever it is repeated; its ranges are kept once. */
function add({ size }: Piece, more: number, last: number): Piece {
  return { size: size + more, last };
}

/** `x{2,5}` is `xx(x(x(x)?)?)?`. */
function repeat({ size, last }: Piece, { least, most }: Repeats): Piece {
  const repeated = last * Math.max(least, 1) + (last + 1) * Math.max(most - least, 0);
  return { size: size - last + repeated, last: repeated };
}

interface Repeats {
  readonly least: number;
  readonly most: number;
}

/** `\Q…\E`, an escape, a class, a repetition, or one character. */
const TOKENS =
  /\\Q[^]*?(?:\\E|$)|\\[pP]\{[^}]{0,99}\}|\\[^]|\[\^?\]?(?:\[:[^\]]{0,99}:\]|\\[^]|[^\]\\])*\]?|\{(\d{1,9})(?:,(\d{0,9}))?\}|[^]/g;

function* tokensOf(pattern: string): Generator<{ readonly text: string; readonly repeats: Repeats | null }> {
  for (const [text, least, most = ''] of pattern.matchAll(TOKENS)) {
    yield { text, repeats: least === undefined ? null : { least: Number(least), most: Number(most) } };
  }
}

/**
 * Compiles a pattern as JavaScript has them (JSON Schema) or as RE2 has them. Throws for what RE2 does not know, and for one that
 * is too large.
 */
export function linearPattern(pattern: string, syntax: 'javascript' | 're2'): LinearPattern {
  if (patternSize(pattern) > MOST_PATTERN_SIZE) throw new Error(`a pattern is too large: ${pattern.slice(0, 50)}`);
  return RE2JS.compile(syntax === 're2' ? pattern : RE2JS.translateRegExp(pattern));
}
