/** The matches of a set of patterns in a text. */
export interface PatternMatches {
  /** Start and end of each match, in the order of the ends. Overlapping matches are merged. */
  readonly ranges: readonly (readonly [start: number, end: number])[];
  /** The start of the longest suffix of the text that is a proper prefix of a pattern; the text's length: none. */
  readonly begun: number;
}

const ROOT = 0;
const NO_SYMBOL = 0;
const ASCII = 128;

/**
 * Finds many patterns in one pass over any text (Aho and Corasick, 1975). Outside a match, two characters that no pattern begins
 * with are skipped without a state lookup.
 */
export class PatternSet {
  /** The number of each UTF-16 code unit that a pattern contains. */
  private readonly symbols = new Map<number, number>();
  private readonly asciiSymbols = new Uint16Array(ASCII);
  /** Maps `state * width + symbol` to the next state. */
  private readonly next = new Map<number, number>();
  private readonly parent: number[] = [ROOT];
  private readonly lastSymbol: number[] = [NO_SYMBOL];
  private readonly fail: number[] = [ROOT];
  private readonly depth: number[] = [0];
  /** Length of the longest pattern that ends in a state. */
  private readonly ends: number[] = [0];
  private readonly isOpen: boolean[] = [false];
  private readonly width: number;
  /** Whether a pattern begins with these two symbols. */
  private readonly beginnings: Uint8Array;

  constructor(patterns: readonly string[]) {
    for (const pattern of patterns) this.addSymbols(pattern);
    this.width = this.symbols.size + 1;
    this.beginnings = new Uint8Array(this.width * this.width);
    for (const pattern of patterns) this.add(pattern);
    this.link();
  }

  find(text: string): PatternMatches {
    const ranges: [number, number][] = [];
    let state = ROOT;
    for (let at = 0; at < text.length; at++) {
      if (state === ROOT) at = this.nextBeginning(text, at);
      const symbol = this.symbolAt(text, at);
      state = symbol === NO_SYMBOL ? ROOT : this.step(state, symbol);
      const length = this.ends[state] ?? 0;
      if (length > 0) join(ranges, at + 1 - length, at + 1);
    }
    while (state !== ROOT && this.isOpen[state] !== true) state = this.fail[state] ?? ROOT;
    return { ranges, begun: text.length - (this.depth[state] ?? 0) };
  }

  /** The first position at or after `from` where a pattern may begin, at most the last character. */
  private nextBeginning(text: string, from: number): number {
    const { asciiSymbols, beginnings, width } = this;
    const last = text.length - 1;
    let at = from;
    let symbol = this.symbolAt(text, at);
    while (at < last) {
      const unit = text.charCodeAt(at + 1);
      const following = unit < ASCII ? (asciiSymbols[unit] ?? NO_SYMBOL) : this.symbolAt(text, at + 1);
      if (beginnings[symbol * width + following] === 1) return at;
      symbol = following;
      at += 1;
    }
    return at;
  }

  private symbolAt(text: string, at: number): number {
    const unit = text.charCodeAt(at);
    return (unit < ASCII ? this.asciiSymbols[unit] : this.symbols.get(unit)) ?? NO_SYMBOL;
  }

  private step(from: number, symbol: number): number {
    for (let state = from; ; state = this.fail[state] ?? ROOT) {
      const to = this.next.get(state * this.width + symbol);
      if (to !== undefined) return to;
      if (state === ROOT) return ROOT;
    }
  }

  private addSymbols(pattern: string): void {
    for (let at = 0; at < pattern.length; at++) {
      const unit = pattern.charCodeAt(at);
      if (this.symbols.has(unit)) continue;
      this.symbols.set(unit, this.symbols.size + 1);
      if (unit < ASCII) this.asciiSymbols[unit] = this.symbols.size;
    }
  }

  private add(pattern: string): void {
    let state = ROOT;
    for (let at = 0; at < pattern.length; at++) {
      const symbol = this.symbolAt(pattern, at);
      const edge = state * this.width + symbol;
      this.isOpen[state] = true;
      const known = this.next.get(edge);
      state = known ?? this.newState(state, symbol);
      if (known === undefined) this.next.set(edge, state);
    }
    this.ends[state] = pattern.length;
    const first = this.symbolAt(pattern, 0);
    this.beginnings[first * this.width + this.symbolAt(pattern, 1)] = 1;
  }

  private newState(parent: number, symbol: number): number {
    this.parent.push(parent);
    this.lastSymbol.push(symbol);
    this.fail.push(ROOT);
    this.ends.push(0);
    this.isOpen.push(false);
    return this.depth.push((this.depth[parent] ?? 0) + 1) - 1;
  }

  /** Breadth first, because a failure link points to a less deep state: that of the longest proper suffix. */
  private link(): void {
    const levels: number[][] = [];
    this.depth.forEach((depth, state) => (levels[depth] ??= []).push(state));
    for (const state of levels.slice(1).flat()) {
      const parent = this.parent[state] ?? ROOT;
      if (parent !== ROOT) this.fail[state] = this.step(this.fail[parent] ?? ROOT, this.lastSymbol[state] ?? NO_SYMBOL);
      const ofEnd = this.ends[this.fail[state] ?? ROOT] ?? 0;
      if (ofEnd > (this.ends[state] ?? 0)) this.ends[state] = ofEnd;
    }
  }
}

function join(ranges: [number, number][], start: number, end: number): void {
  const last = ranges.at(-1);
  if (last === undefined || start >= last[1]) ranges.push([start, end]);
  else ranges[ranges.length - 1] = [Math.min(start, last[0]), end];
}
