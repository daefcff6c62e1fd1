/** Hexadecimal digits of a text, in lower case, with what stands between pairs of them left out. */
export interface HexRun {
  readonly digits: string;
  /** The place of each digit in the text. */
  readonly places: readonly number[];
  readonly isAtEnd: boolean;
}

const OTHER = 0;
const DIGIT = 1;
const SEPARATOR = 2;

const KINDS = new Uint8Array(128);
for (const char of '0123456789abcdefABCDEF') KINDS[char.charCodeAt(0)] = DIGIT;
/** As in `70 6c`, `70:6c`, `0x70, 0x6c`. */
for (const char of ' :,-\n\r\t\\xX') KINDS[char.charCodeAt(0)] = SEPARATOR;
const MOST_BETWEEN = 4;

/** The runs of at least `fewest` digits, and of `fewestAtEnd` where the text ends. One pass. */
export function hexRuns(text: string, fewest: number, fewestAtEnd: number): readonly HexRun[] {
  const runs: HexRun[] = [];
  let start = -1;
  let count = 0;
  let between = 0;
  for (let at = 0; at < text.length; at++) {
    const kind = KINDS[text.charCodeAt(at)] ?? OTHER;
    if (kind === DIGIT) {
      if (count === 0) start = at;
      count += 1;
      between = 0;
      continue;
    }
    if (count === 0) continue;
    between += 1;
    if (kind === SEPARATOR && between <= MOST_BETWEEN) continue;
    if (count >= fewest) runs.push(runOf(text, start, at));
    count = 0;
    between = 0;
  }
  if (count >= fewestAtEnd) runs.push({ ...runOf(text, start, text.length), isAtEnd: true });
  return runs;
}

function runOf(text: string, start: number, end: number): HexRun {
  const digits: string[] = [];
  const places: number[] = [];
  for (let at = start; at < end; at++) {
    if (KINDS[text.charCodeAt(at)] !== DIGIT) continue;
    // The zero of `0x` is none of the digits.
    if (text[at] === '0' && (text[at + 1] === 'x' || text[at + 1] === 'X')) continue;
    digits.push(text.charAt(at));
    places.push(at);
  }
  return { digits: digits.join('').toLowerCase(), places, isAtEnd: false };
}
