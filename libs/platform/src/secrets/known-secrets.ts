import type { SecretRange } from './credential-shapes.js';
import { DecodedText } from './decoded-text.js';
import { hexRuns } from './hex-runs.js';
import { PatternSet } from './pattern-set.js';
import type { Secret } from './secret.js';
import { formsOf, SHORTEST_KNOWN } from './secret-forms.js';

/** Where secrets stand in a text. */
export interface FoundSecrets {
  readonly ranges: readonly SecretRange[];
  /** Where a secret may begin that the end of the text cuts in two; the text's length: nowhere. */
  readonly begun: number;
}

interface Patterns {
  readonly texts: PatternSet;
  readonly hex: PatternSet;
}

/** Fewer hexadecimal digits than this do not identify a secret: many ordinary words end with them. */
const FEWEST_DIGITS = 4;

/** Secrets that are known by their text, in every form they are likely to take. */
export class KnownSecrets {
  private readonly counts = new Map<string, number>();
  /** Made when a text is read after a change. */
  private patterns: Patterns | undefined;

  get isEmpty(): boolean {
    return this.counts.size === 0;
  }

  /** Returns the removal. Counted: two jobs may hold the same key. Under 8 characters: ignored. */
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

  /** Takes time in proportion to the text, however many secrets there are. */
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
