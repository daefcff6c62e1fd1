/** What one step picks. A bound of a slice is null where it was left out. */
export type Selector =
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'slice'; readonly start: number | null; readonly end: number | null; readonly step: number }
  | { readonly kind: 'wildcard' };

/** One step of a path: what its selectors pick of a value, or of the value and everything in it. */
export interface Segment {
  readonly isDescendant: boolean;
  readonly selectors: readonly Selector[];
}

/** A path as `parseJsonPath` made it. */
export interface JsonPath {
  readonly segments: readonly Segment[];
  /** Whether it can find one value at most (RFC 9535, 2.3.5.1, a singular query). */
  readonly isSingular: boolean;
}

const LONGEST = 500;
/** Far above what paths need: each step may look at everything once more. */
const MOST_SEGMENTS = 20;
const MOST_SELECTORS = 20;

/**
 * Reads a JSONPath (RFC 9535) of names, indexes, slices, wildcards, unions of them and descendants: `$.items[*].name`,
 * `$['a b'][0]`, `$..id`, `$.list[-2:]`. At most 20 steps, and 20 selectors in a union. Filters (`?`) and functions are not
 * supported. Gives the problem as a clause.
 */
export function parseJsonPath(text: string): JsonPath | string {
  if (text.length > LONGEST) return `it is longer than ${LONGEST} characters`;
  const scanner = new Scanner(text);
  if (scanner.take(/\$/y) === null) return 'it must begin with "$"';
  const segments: Segment[] = [];
  while (!scanner.isAtEnd) {
    const segment = readSegment(scanner);
    if (segment === null) return `it cannot be read after "${scanner.read}"`;
    if (segment.selectors.length > MOST_SELECTORS) return `it picks more than ${MOST_SELECTORS} things at once`;
    segments.push(segment);
  }
  if (segments.length > MOST_SEGMENTS) return `it has more than ${MOST_SEGMENTS} steps`;
  return { segments, isSingular: segments.every(isSingular) };
}

class Scanner {
  private at = 0;

  constructor(private readonly text: string) {}

  get isAtEnd(): boolean {
    return this.at === this.text.length;
  }

  get read(): string {
    return this.text.slice(0, this.at);
  }

  /** The text that a sticky pattern matches here; parsing continues after it. Null: no match. */
  take(pattern: RegExp): string | null {
    pattern.lastIndex = this.at;
    const [match] = pattern.exec(this.text) ?? [null];
    this.at += match?.length ?? 0;
    return match;
  }
}

function readSegment(scanner: Scanner): Segment | null {
  const dots = scanner.take(/\.\.?/y);
  const isDescendant = dots === '..';
  if (dots !== '.' && scanner.take(/\[/y) !== null) {
    const selectors = readSelectors(scanner);
    return selectors === null ? null : { isDescendant, selectors };
  }
  if (dots === null) return null;
  if (scanner.take(/\*/y) !== null) return { isDescendant, selectors: [{ kind: 'wildcard' }] };
  const name = scanner.take(/[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*/y);
  return name === null ? null : { isDescendant, selectors: [{ kind: 'name', name }] };
}

function readSelectors(scanner: Scanner): readonly Selector[] | null {
  const selectors: Selector[] = [];
  do {
    scanner.take(/\s+/y);
    const selector = readSelector(scanner);
    if (selector === null) return null;
    selectors.push(selector);
    scanner.take(/\s+/y);
  } while (scanner.take(/,/y) !== null);
  return scanner.take(/\]/y) === null ? null : selectors;
}

function readSelector(scanner: Scanner): Selector | null {
  if (scanner.take(/\*/y) !== null) return { kind: 'wildcard' };
  const quoted = scanner.take(/'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"/y);
  if (quoted !== null) return nameOf(quoted);
  const start = readNumber(scanner);
  if (scanner.take(/\s*:\s*/y) === null) return start === null ? null : { kind: 'index', index: start };
  const end = readNumber(scanner);
  const step = scanner.take(/\s*:\s*/y) === null ? null : readNumber(scanner);
  return { kind: 'slice', start, end, step: step ?? 1 };
}

function readNumber(scanner: Scanner): number | null {
  const digits = scanner.take(/-?\d{1,9}/y);
  return digits === null ? null : Number(digits);
}

/** Escapes are those of JSON; in single quotes `\'` as well, and `"` stands for itself. */
function nameOf(quoted: string): Selector | null {
  const inner = quoted.slice(1, -1);
  const json = quoted.startsWith('"')
    ? inner
    : inner.replace(/\\'|"|\\./g, (found) => (found === "\\'" ? "'" : found === '"' ? '\\"' : found));
  try {
    return { kind: 'name', name: String(JSON.parse(`"${json}"`)) };
  } catch {
    return null;
  }
}

function isSingular({ isDescendant, selectors: [first, ...more] }: Segment): boolean {
  return !isDescendant && more.length === 0 && (first?.kind === 'name' || first?.kind === 'index');
}
