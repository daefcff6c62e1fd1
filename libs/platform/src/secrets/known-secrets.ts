import type { SecretRange } from './credential-shapes.js';
import { DecodedText } from './decoded-text.js';
import { PatternSet } from './pattern-set.js';
import type { Secret } from './secret.js';

/** A shorter "secret" may be an ordinary word, and redacting it would only damage texts. */
const SHORTEST_KNOWN = 8;

/** The forms of a secret to search for. */
interface SecretForms {
  /** Forms in a text, and in the decoded text (`DecodedText`). */
  readonly texts: readonly string[];
  /** Forms in the hexadecimal digits of a text (`hexRuns`). */
  readonly hex: readonly string[];
}

/**
 * The forms in which a remote system is likely to return a text: literal, with escapes of any kind and depth, form-encoded, hexadecimal, and
 * Base64, alone or within a longer value such as `user:secret` of Basic credentials. Forms that are too short are left out.
 */
function formsOf(value: string): SecretForms {
  const plain = [value, DecodedText.of(value)?.value ?? value, value.replaceAll('\\', '')];
  const forms = plain.map((form) => form.replaceAll(' ', '+'));
  const texts = new Set([...plain, ...forms, ...base64Forms(value)]);
  return {
    texts: [...texts].filter((form) => form.length >= SHORTEST_KNOWN),
    hex: [Buffer.from(value).toString('hex')],
  };
}

/** By the number of preceding bytes, modulo 3: the number of leading characters that depend on these bytes. */
const SHARED = [0, 2, 3];

/** Base64 encodes three bytes as four characters, so the same bytes have three encodings, by their offset modulo 3. */
function base64Forms(value: string): readonly string[] {
  const bytes = Buffer.from(value);
  return SHARED.flatMap((shared, before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    const atTheEnd = encoded.slice(shared);
    const isWhole = (before + bytes.length) % 3 === 0;
    const forms = isWhole ? [atTheEnd] : [atTheEnd, atTheEnd.slice(0, -1)];
    return forms.flatMap((form) => [form, form.replaceAll('+', '-').replaceAll('/', '_')]);
  });
}

/** A run of hexadecimal digits in lower case, without the separators between pairs. */
interface HexRun {
  readonly digits: string;
  /** The position of each digit in the text. */
  readonly places: readonly number[];
  readonly isAtEnd: boolean;
}

const OTHER = 0;
const DIGIT = 1;
const SEPARATOR = 2;

const KINDS = new Uint8Array(128);
for (const char of '0123456789abcdefABCDEF') KINDS[char.charCodeAt(0)] = DIGIT;
/** Separators as in `70 6c`, `70:6c`, `0x70, 0x6c`. */
for (const char of ' :,-\n\r\t\\xX') KINDS[char.charCodeAt(0)] = SEPARATOR;
const MAX_BETWEEN = 4;

/** Returns the runs of at least `fewest` digits, or of `fewestAtEnd` digits at the end of the text. One pass. */
function hexRuns(text: string, fewest: number, fewestAtEnd: number): readonly HexRun[] {
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
    if (kind === SEPARATOR && between <= MAX_BETWEEN) continue;
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
    // The zero of `0x` is not one of the digits.
    if (text[at] === '0' && (text[at + 1] === 'x' || text[at + 1] === 'X')) continue;
    digits.push(text.charAt(at));
    places.push(at);
  }
  return { digits: digits.join('').toLowerCase(), places, isAtEnd: false };
}

/** The positions of secrets in a text. */
export interface FoundSecrets {
  readonly ranges: readonly SecretRange[];
  /** Where a secret may begin that is cut off at the end of the text; the text's length if there is none. */
  readonly begun: number;
}

interface Patterns {
  readonly texts: PatternSet;
  readonly hex: PatternSet;
}

/** Fewer hexadecimal digits than this do not identify a secret: many ordinary words end with them. */
const FEWEST_DIGITS = 4;

/** Secrets with known values, in every form that they are likely to have. */
export class KnownSecrets {
  private readonly counts = new Map<string, number>();
  /** Built at the first search after a change. */
  private patterns: Patterns | undefined;

  get isEmpty(): boolean {
    return this.counts.size === 0;
  }

  /**
   * Returns a function that removes the secret. Registrations are counted, because two jobs may have the same key. Values under 8 characters
   * are ignored.
   */
  add(secret: Secret): () => void {
    const value = secret.reveal();
    if (value.length < SHORTEST_KNOWN) return () => undefined;
    this.count(value, 1);
    let isCounted = true;
    return () => {
      if (isCounted) this.count(value, -1);
      isCounted = false;
    };
  }

  has(secret: Secret): boolean {
    return this.counts.has(secret.reveal());
  }

  /** Takes time proportional to the length of the text, for any number of secrets. */
  find(text: string): FoundSecrets {
    if (this.isEmpty || text === '') return { ranges: [], begun: text.length };
    const { texts, hex } = (this.patterns ??= this.compile());
    const plain = texts.find(text);
    const ranges: SecretRange[] = plain.ranges.map(([start, end]) => ({ from: start, start, end }));
    let { begun } = plain;
    const decoded = DecodedText.of(text);
    if (decoded !== null) {
      const found = texts.find(decoded.value);
      for (const [first, last] of found.ranges) {
        const start = decoded.toSource(first);
        ranges.push({ from: start, start, end: decoded.toSource(last) });
      }
      begun = Math.min(begun, decoded.end, decoded.toSource(found.begun));
    }
    for (const { digits, places, isAtEnd } of hexRuns(text, SHORTEST_KNOWN * 2, FEWEST_DIGITS)) {
      const found = hex.find(digits);
      for (const [first, last] of found.ranges) {
        const start = places[first] ?? 0;
        ranges.push({ from: start, start, end: (places[last - 1] ?? text.length) + 1 });
      }
      if (isAtEnd && digits.length - found.begun >= FEWEST_DIGITS)
        begun = Math.min(begun, places[found.begun] ?? begun);
    }
    return { ranges, begun };
  }

  private count(value: string, by: 1 | -1): void {
    const before = this.counts.get(value) ?? 0;
    if (before + by === 0) this.counts.delete(value);
    else this.counts.set(value, before + by);
    if (before === 0 || before + by === 0) this.patterns = undefined;
  }

  private compile(): Patterns {
    const forms = [...this.counts.keys()].map(formsOf);
    return {
      texts: new PatternSet(forms.flatMap(({ texts }) => texts)),
      hex: new PatternSet(forms.flatMap(({ hex }) => hex)),
    };
  }
}
