import { z } from 'zod';

import type { GuardedFetch } from '#platform';
import { defineTool, type Tool } from '#tools';

import type { WorkspaceSecrets } from '../secrets/workspace-secrets.service.js';
import { askJson } from './ask-json.js';
import { type FoundRow, foundRows, type SearchResult, tavilyRequest } from './search-backends.js';

/** The secret of a workspace with its API key for Tavily. */
const SECRET = 'TAVILY_API_KEY';
const DEFAULT_COUNT = 5;

const domains = z.array(z.string().min(1).max(253)).max(50).optional();
const input = z.object({
  query: z.string().min(1).max(400).describe('What to search for'),
  searchDepth: z
    .enum(['basic', 'advanced'])
    .optional()
    .describe('Advanced: slower, with better snippets; default basic'),
  maxResults: z.number().int().min(1).max(20).optional().describe(`How many results; default ${DEFAULT_COUNT}`),
  includeDomains: domains.describe('Only results of these domains'),
  excludeDomains: domains.describe('No results of these domains'),
});

interface ScoredResult extends SearchResult {
  /** The relevance for the query, 0 to 1; null: Tavily returned none. */
  readonly score: number | null;
}

/** `tavily_search`: searches Tavily at `base` with the API key of the workspace. `fetch` is for services that the operator configured. */
export function tavilySearchTool(fetch: GuardedFetch, secrets: Pick<WorkspaceSecrets, 'use'>, base: string): Tool {
  return defineTool({
    name: 'tavily_search',
    description: 'Searches the web with Tavily and gives titles, addresses and snippets of the best results.',
    input,
    effect: 'pure',
    execute: ({ query, searchDepth, maxResults = DEFAULT_COUNT, includeDomains, excludeDomains }, context) =>
      secrets.use(context.workspaceId, [SECRET], async ({ values, redact }) => {
        const key = values.get(SECRET)?.reveal() ?? '';
        const request = tavilyRequest(base, key, {
          ...{ query: query.trim(), max_results: maxResults },
          ...(searchDepth && { search_depth: searchDepth }),
          ...(includeDomains && { include_domains: includeDomains }),
          ...(excludeDomains && { exclude_domains: excludeDomains }),
        });
        const answer = await askJson(fetch, { ...request, signal: context.signal }, 'Tavily');
        const shape = {
          resultsIn: ({ results }: { readonly results?: unknown }) => results,
          snippet: 'content',
        } as const;
        const results = foundRows(answer, shape, redact).slice(0, maxResults).map(toScored);
        return { query: query.trim(), results };
      }),
  });
}

function toScored({ row, ...result }: FoundRow): ScoredResult {
  return { ...result, score: typeof row['score'] === 'number' ? row['score'] : null };
}
