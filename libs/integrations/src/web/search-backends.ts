import type { OutboundRequest, Settings } from '#platform';

/** One thing found. */
export interface SearchResult {
  readonly title: string;
  readonly url: string;
  readonly snippet: string;
}

/** A result, and the row of the response that it was read from. */
export interface FoundRow extends SearchResult {
  readonly row: Readonly<Record<string, unknown>>;
}

const MAX_SNIPPET_LENGTH = 1_000;

/** A search provider: how to send a query, and where the response has the results. */
export interface SearchBackend {
  readonly name: 'tavily' | 'brave' | 'searxng';
  readonly toRequest: (query: string, count: number) => OutboundRequest;
  /** Selects the list of results in a parsed response. Any other value means no results. */
  readonly resultsIn: (answer: Answer) => unknown;
  /** The field of a result with an excerpt of the page. */
  readonly snippet: 'content' | 'description';
}

type Answer = Readonly<Record<string, unknown>>;

/** The settings that select a search provider. */
export type SearchSettings = Pick<
  Settings,
  'TAVILY_API_KEY' | 'TAVILY_URL' | 'BRAVE_API_KEY' | 'BRAVE_URL' | 'SEARXNG_URL'
>;

/** The search provider, first match: Tavily, Brave, SearXNG. Null: none is configured. */
export function searchBackend(settings: SearchSettings): SearchBackend | null {
  const { TAVILY_API_KEY, TAVILY_URL, BRAVE_API_KEY, BRAVE_URL, SEARXNG_URL } = settings;
  if (TAVILY_API_KEY !== undefined) return tavily(TAVILY_URL, TAVILY_API_KEY);
  if (BRAVE_API_KEY !== undefined) return brave(BRAVE_URL, BRAVE_API_KEY);
  return SEARXNG_URL === undefined ? null : searxng(SEARXNG_URL);
}

function tavily(base: string, key: string): SearchBackend {
  return {
    name: 'tavily',
    toRequest: (query, count) => tavilyRequest(base, key, { query, max_results: count }),
    resultsIn: ({ results }) => results,
    snippet: 'content',
  };
}

/** A search request to Tavily. `options` are the fields of its body. */
export function tavilyRequest(base: string, key: string, options: Readonly<Record<string, unknown>>): OutboundRequest {
  return {
    method: 'POST',
    url: below(base, 'search'),
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(options),
  };
}

function brave(base: string, key: string): SearchBackend {
  return {
    name: 'brave',
    toRequest: (q, count) => ({
      url: below(base, 'web/search', { q, count: String(count) }),
      headers: { 'x-subscription-token': key, accept: 'application/json' },
    }),
    resultsIn: ({ web }) => (typeof web === 'object' && web !== null && 'results' in web ? web.results : null),
    snippet: 'description',
  };
}

function searxng(base: string): SearchBackend {
  return {
    name: 'searxng',
    toRequest: (q) => ({ url: below(base, 'search', { q, format: 'json' }), headers: { accept: 'application/json' } }),
    resultsIn: ({ results }) => results,
    snippet: 'content',
  };
}

/** The results of a raw response, each with its row. Rows without a web address are left out. */
export function foundRows(
  answer: unknown,
  { resultsIn, snippet }: Pick<SearchBackend, 'resultsIn' | 'snippet'>,
  redact = (text: string) => text,
): readonly FoundRow[] {
  const found: unknown = isRecord(answer) ? resultsIn(answer) : null;
  const rows: readonly unknown[] = Array.isArray(found) ? found : [];
  const textIn = (value: unknown) => toText(value, redact);
  return rows
    .filter(isRecord)
    .map((row) => ({ title: textIn(row['title']), url: textIn(row['url']), snippet: textIn(row[snippet]), row }))
    .filter(({ url }) => /^https?:\/\//.test(url));
}

/**
 * Removes HTML, with which some services mark the search terms. The text is redacted before it is cut, so that the cut cannot leave half of a
 * secret.
 */
function toText(value: unknown, redact: (text: string) => string): string {
  return typeof value === 'string'
    ? redact(value.replace(/<\/?(?:strong|em|b|i)>/g, '')).slice(0, MAX_SNIPPET_LENGTH)
    : '';
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A path below a base URL, with or without a slash at its end. */
export function below(base: string, path: string, query: Readonly<Record<string, string>> = {}): URL {
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/${path}`;
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return url;
}
