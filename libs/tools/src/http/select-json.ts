import type { JsonPath, Segment, Selector } from './parse-json-path.js';

const MOST_VISITED = 100_000;
const DEEPEST = 256;

/**
 * What a path finds in a JSON value: for a singular path the value, undefined if there is none; for any other the list of all
 * found, in the order of the document. Looks only at own members and elements, at 100,000 of them and 256 levels deep at
 * most; what lies beyond is not found.
 */
export function selectJson({ segments, isSingular }: JsonPath, root: unknown): unknown {
  const search = new Search();
  const found = segments.reduce<readonly unknown[]>((nodes, segment) => search.step(nodes, segment), [root]);
  return isSingular ? found[0] : found;
}

class Search {
  private left = MOST_VISITED;

  step(nodes: readonly unknown[], segment: Segment): readonly unknown[] {
    return nodes.flatMap((node) => (segment.isDescendant ? this.descend(node, segment, 0) : this.pick(node, segment)));
  }

  private descend(node: unknown, segment: Segment, depth: number): readonly unknown[] {
    const found = this.pick(node, segment);
    if (depth === DEEPEST) return found;
    return [...found, ...this.children(node).flatMap((child) => this.descend(child, segment, depth + 1))];
  }

  private pick(node: unknown, { selectors }: Segment): readonly unknown[] {
    return selectors.flatMap((selector) => this.select(node, selector));
  }

  private select(node: unknown, selector: Selector): readonly unknown[] {
    switch (selector.kind) {
      case 'wildcard':
        return this.children(node);
      case 'name':
        return isObject(node) && Object.hasOwn(node, selector.name) ? this.spend([node[selector.name]]) : [];
      case 'index':
      case 'slice':
        return Array.isArray(node) ? this.spend(positionsOf(node.length, selector).map((at): unknown => node[at])) : [];
    }
  }

  private children(node: unknown): readonly unknown[] {
    return typeof node === 'object' && node !== null ? this.spend(Object.values(node)) : [];
  }

  private spend(nodes: readonly unknown[]): readonly unknown[] {
    const seen = nodes.slice(0, this.left);
    this.left -= seen.length;
    return seen;
  }
}

function isObject(node: unknown): node is Readonly<Record<string, unknown>> {
  return typeof node === 'object' && node !== null && !Array.isArray(node);
}

type Position = Extract<Selector, { kind: 'index' | 'slice' }>;

/** Which elements of a list are meant (RFC 9535, 2.3.3.2 and 2.3.4.2.2). */
function positionsOf(length: number, position: Position): readonly number[] {
  const fromEnd = (at: number): number => (at < 0 ? length + at : at);
  if (position.kind === 'index') {
    const at = fromEnd(position.index);
    return at >= 0 && at < length ? [at] : [];
  }
  const { start, end, step } = position;
  const [low, high] = step < 0 ? [-1, length - 1] : [0, length];
  const bound = (at: number): number => Math.min(Math.max(fromEnd(at), low), high);
  const from = start === null ? (step < 0 ? high : low) : bound(start);
  const to = end === null ? (step < 0 ? low : high) : bound(end);
  const count = step === 0 ? 0 : Math.max(0, Math.ceil((to - from) / step));
  return Array.from({ length: Math.min(count, MOST_VISITED) }, (_, n) => from + n * step);
}
