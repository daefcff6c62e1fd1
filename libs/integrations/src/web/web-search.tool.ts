import { z } from 'zod';

import type { GuardedFetch } from '#platform';
import { defineTool, type Tool } from '#tools';

import { askJson } from './ask-json.js';
import { foundRows, type SearchBackend, type SearchResult } from './search-backends.js';

const COUNT = 5;
const MAX_QUERY_LENGTH = 400;

// Clients advertise exactly this schema, so the handler checks further limits.
const input = z.object({ query: z.string().describe('What to search for') });

/** `web_search`: the best few results of a query. `fetch` is for services that the operator configured. */
export function webSearchTool(fetch: GuardedFetch, backend: SearchBackend): Tool {
  return defineTool({
    name: 'web_search',
    description: 'Searches the web and gives titles, addresses and snippets of the best results.',
    input,
    effect: 'pure',
    execute: async ({ query }, { signal }) => {
      const wanted = query.trim().slice(0, MAX_QUERY_LENGTH);
      if (wanted === '') throw new Error('the query is empty');
      const answer = await askJson(fetch, { ...backend.toRequest(wanted, COUNT), signal }, 'the search service');
      return { query: wanted, results: toResults(answer, backend) };
    },
  });
}

function toResults(answer: unknown, backend: SearchBackend): readonly SearchResult[] {
  return foundRows(answer, backend)
    .slice(0, COUNT)
    .map(({ title, url, snippet }) => ({ title, url, snippet }));
}
