import type { JsonPath, Segment, Selector } from './parse-json-path.js';

const MAX_VISITED = 100_000;
const DEEPEST = 256;

/** The result of a path. */
export interface Selection {
  /** The values in the order of the document, each position once. At most one for a singular path. */
  readonly found: readonly unknown[];
  readonly isSingular: boolean;
  /** Whether the search stopped before it had visited everything. */
  readonly isCut: boolean;
}

/**
 * Applies a path to parsed JSON. It visits own members and elements only, at most 100,000 of them and 256 levels deep, and then stops. Even
 * if steps and selectors overlap, each step visits each object and list once and selects each position once (RFC 9535 repeats them), so the
 * work does not multiply.
 */
export function selectJson({ segments, isSingular }: JsonPath, root: unknown): Selection {
  const search = new Search();
  const found = segments.reduce<readonly unknown[]>((nodes, segment) => search.step(nodes, segment), [root]);
  return { found, isSingular, isCut: search.isCut };
}

type Container = Readonly<Record<string | number, unknown>>;

interface Step {
  readonly segment: Segment;
  readonly seen: Set<Container>;
  readonly found: unknown[];
}

class Search {
  isCut = false;
  private left = MAX_VISITED;

  step(nodes: readonly unknown[], segment: Segment): readonly unknown[] {
    const step: Step = { segment, seen: new Set(), found: [] };
    for (const node of nodes) {
      if (this.isCut) break;
      this.visit(node, step, 0);
    }
    return step.found;
  }

  private visit(node: unknown, step: Step, depth: number): void {
    if (!isContainer(node) || step.seen.has(node)) return;
    if (depth > DEEPEST) {
      this.isCut = true;
      return;
    }
    step.seen.add(node);
    for (const key of keysOf(node, step.segment.selectors)) {
      if (!this.spend()) return;
      step.found.push(node[key]);
    }
    if (!step.segment.isDescendant) return;
    for (const key of allKeys(node)) {
      if (!this.spend()) return;
      this.visit(node[key], step, depth + 1);
      if (this.isCut) return;
    }
  }

  private spend(): boolean {
    if (this.left === 0) this.isCut = true;
    else this.left--;
    return !this.isCut;
  }
}

/** Lists and objects are treated alike: only their own keys are read. */
function isContainer(node: unknown): node is Container {
  return typeof node === 'object' && node !== null;
}

/** The positions that a step selects, as a generator, so that the caller can stop early. */
function* keysOf(node: Container, selectors: readonly Selector[]): Generator<string | number> {
  const [first, ...more] = selectors;
  if (first === undefined) return;
  if (more.length === 0) {
    yield* pick(node, first);
    return;
  }
  const picked = new Set<string | number>();
  for (const selector of selectors) {
    for (const key of pick(node, selector)) {
      if (picked.has(key)) continue;
      picked.add(key);
      yield key;
    }
  }
}

function pick(node: Container, selector: Selector): Iterable<string | number> {
  switch (selector.kind) {
    case 'wildcard':
      return allKeys(node);
    case 'name':
      return !Array.isArray(node) && Object.hasOwn(node, selector.name) ? [selector.name] : [];
    case 'index':
    case 'slice':
      return Array.isArray(node) ? positionsOf(node.length, selector) : [];
  }
}

function allKeys(node: Container): Iterable<string | number> {
  return Array.isArray(node) ? node.keys() : Object.keys(node);
}

type Position = Extract<Selector, { kind: 'index' | 'slice' }>;

/** The selected positions of a list (RFC 9535, 2.3.3.2 and 2.3.4.2.2). */
function* positionsOf(length: number, position: Position): Generator<number> {
  const fromEnd = (at: number): number => (at < 0 ? length + at : at);
  if (position.kind === 'index') {
    const at = fromEnd(position.index);
    if (at >= 0 && at < length) yield at;
    return;
  }
  const { start, end, step } = position;
  const [low, high] = step < 0 ? [-1, length - 1] : [0, length];
  const bound = (at: number): number => Math.min(Math.max(fromEnd(at), low), high);
  const from = start === null ? (step < 0 ? high : low) : bound(start);
  const to = end === null ? (step < 0 ? low : high) : bound(end);
  if (step === 0) return;
  for (let at = from; step > 0 ? at < to : at > to; at += step) yield at;
}
