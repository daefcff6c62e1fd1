import { compile, jsonpath, JSONPathError, type JSONPathQuery, TokenKind } from 'json-p3';

/** The values that a step selects. A bound of a slice is null if it was omitted. */
export type Selector =
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'slice'; readonly start: number | null; readonly end: number | null; readonly step: number }
  | { readonly kind: 'wildcard' };

/** One step of a path: its selectors, and whether they apply to the value only or also to everything within it. */
export interface Segment {
  readonly isDescendant: boolean;
  readonly selectors: readonly Selector[];
}

export interface JsonPath {
  readonly segments: readonly Segment[];
  /** Whether the path selects at most one value (RFC 9535, 2.3.5.1, a singular query). */
  readonly isSingular: boolean;
}

const MAX_LENGTH = 500;
/** Far above what paths need. The limit exists because each step may visit every value. */
const MAX_SEGMENTS = 20;
const MAX_SELECTORS = 20;

const { IndexSelector, NameSelector, SliceSelector, WildcardSelector } = jsonpath.selectors;

/**
 * Parses a JSONPath (RFC 9535) of names, indexes, slices, wildcards, unions of them and descendants: `$.items[*].name`, `$['a b'][0]`,
 * `$..id`, `$.list[-2:]`. At most 20 steps, and 20 selectors in a union. Filters (`?`) and functions are not supported, because their cost is
 * unbounded. Returns a problem as a clause.
 */
export function parseJsonPath(text: string): JsonPath | string {
  if (text.length > MAX_LENGTH) return `it is longer than ${MAX_LENGTH} characters`;
  const query = compiled(text);
  if (typeof query === 'string') return query;
  if (query.segments.length > MAX_SEGMENTS) return `it has more than ${MAX_SEGMENTS} steps`;
  const segments: Segment[] = [];
  for (const { token, selectors: picks } of query.segments) {
    if (picks.length > MAX_SELECTORS) return `it picks more than ${MAX_SELECTORS} things at once`;
    const selectors = picks.map(toSelector).filter((selector) => selector !== null);
    if (selectors.length < picks.length) return 'it cannot be read: filters are not supported';
    segments.push({ isDescendant: token.kind === TokenKind.DDOT, selectors });
  }
  return { segments, isSingular: query.singularQuery() };
}

function compiled(text: string): JSONPathQuery | string {
  if (!text.startsWith('$')) return 'it must begin with "$"';
  try {
    return compile(text);
  } catch (error) {
    if (error instanceof JSONPathError) return `it cannot be read: ${error.message}`;
    throw error;
  }
}

/** Returns null for a filter. */
function toSelector(selector: jsonpath.JSONPathSelector): Selector | null {
  if (selector instanceof NameSelector) return { kind: 'name', name: selector.name };
  if (selector instanceof IndexSelector) return { kind: 'index', index: selector.index };
  if (selector instanceof WildcardSelector) return { kind: 'wildcard' };
  if (!(selector instanceof SliceSelector)) return null;
  const { start = null, stop: end = null, step = 1 } = selector;
  return { kind: 'slice', start, end, step };
}
