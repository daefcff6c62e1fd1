import { RE2JS } from 're2js';

/** An untrusted pattern, compiled for an engine whose time is linear in the length of the text. */
export type LinearPattern = RE2JS;

/**
 * Maximum total size of patterns. The memory of a compiled pattern, and the time per character that it reads, grow with the product of its
 * counts.
 */
export const MAX_PATTERN_SIZE = 5_000;

/**
 * Estimates the number of instructions of a compiled pattern from its text, rather too high than too low: `a{1000}a{1000}…` is a short text
 * and compiles to thousands. Linear in its length, even if the text is not a valid pattern.
 */
export function patternSize(pattern: string): number {
  if (pattern.length > MAX_PATTERN_SIZE) return pattern.length;
  const outer: Piece[] = [];
  const isFolded = /\(\?[a-zA-Z]*i/.test(pattern);
  let piece: Piece = START;
  for (const token of tokensOf(pattern)) {
    if (token.text === '(') {
      outer.push(piece);
      piece = START;
    } else if (token.text === ')') piece = add(outer.pop() ?? START, piece.size, piece.size);
    else if (token.repeats === null) piece = add(piece, token.text.length + (isFolded ? foldedSize(token.text) : 0), 1);
    else piece = repeat(piece, token.repeats);
  }
  return [...outer, piece].reduce((sum, { size }) => sum + size, 0);
}

/**
 * The cost of compiling the classes of a token with `(?i)`, in characters. Classes that may have hundreds of ranges (Unicode properties, POSIX
 * classes and negated classes) take about 80 µs, as 100 characters; a range takes that time for 3,200 code points.
 */
function foldedSize(token: string): number {
  if (token.length === 1) return 0;
  const classes = token.match(/\\[pPDSW]|\[:|^\[\^/g)?.length ?? 0;
  const widths = [...token.matchAll(RANGES)].map(([, from, to]) => Math.max(codeOf(to) - codeOf(from), 0));
  return 100 * classes + Math.trunc(widths.reduce((sum, width) => sum + width, 0) / 32);
}

/** `a-z` in a class; each end is one character, or an escape of one. */
const RANGES =
  /(\\[xu]\{[^}]*\}|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|\\[^]|[^])-(?=(\\[xu]\{[^}]*\}|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|\\[^]|[^]))/gu;

function codeOf(end = ''): number {
  const hex = /^\\[xu]\{?([0-9a-fA-F]+)/.exec(end)?.[1];
  return hex === undefined
    ? (end.codePointAt(end.length > 1 && end.startsWith('\\') ? 1 : 0) ?? 0)
    : Number.parseInt(hex, 16);
}

/** The part of a group that has been read. */
interface Piece {
  readonly size: number;
  /** The size of the last element, which a following repetition repeats. */
  readonly last: number;
}

const START: Piece = { size: 2, last: 0 };

/** A class is one instruction wherever it is repeated, and its ranges are stored once. */
function add({ size }: Piece, more: number, last: number): Piece {
  return { size: size + more, last };
}

/** `x{2,5}` is `xx(x(x(x)?)?)?`. */
function repeat({ size, last }: Piece, { min, max }: Repeats): Piece {
  const repeated = last * Math.max(min, 1) + (last + 1) * Math.max(max - min, 0);
  return { size: size - last + repeated, last: repeated };
}

interface Repeats {
  readonly min: number;
  readonly max: number;
}

/** `\Q…\E`, an escape, a class, a repetition, or one character. */
const TOKENS =
  /\\Q[^]*?(?:\\E|$)|\\[pP]\{[^}]{0,99}\}|\\[^]|\[\^?\]?(?:\[:[^\]]{0,99}:\]|\\[^]|[^\]\\])*\]?|\{(\d{1,9})(?:,(\d{0,9}))?\}|[^]/g;

function* tokensOf(pattern: string): Generator<{ readonly text: string; readonly repeats: Repeats | null }> {
  for (const [text, min, max = ''] of pattern.matchAll(TOKENS)) {
    yield { text, repeats: min === undefined ? null : { min: Number(min), max: Number(max) } };
  }
}

/**
 * Compiles a pattern in the syntax of JavaScript (JSON Schema) or RE2. Throws for a pattern that RE2 does not support or that is too large.
 */
export function linearPattern(pattern: string, syntax: 'javascript' | 're2'): LinearPattern {
  if (patternSize(pattern) > MAX_PATTERN_SIZE) throw new Error(`a pattern is too large: ${pattern.slice(0, 50)}`);
  return RE2JS.compile(syntax === 're2' ? pattern : RE2JS.translateRegExp(pattern));
}
