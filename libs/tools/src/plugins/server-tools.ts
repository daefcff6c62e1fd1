import { subJobPrefix } from '../sub-job-names.js';

/**
 * The names of the tools of all libs, including tools that a process does not load or that settings disable. A test fails if the list is
 * incomplete.
 */
const SERVER_TOOLS: ReadonlySet<string> = new Set([
  ...['add_numbers', 'ask_person', 'calculate', 'coingecko_price', 'fetch_url', 'get_current_time'],
  ...['get_jobs', 'job_result', 'read_tool_output', 'start_job', 'tavily_search', 'web_search'],
]);

/** Why a plugin cannot use this tool name, as a clause; null: it can. */
export function problemOfToolName(name: string): string | null {
  if (SERVER_TOOLS.has(name)) return 'its name is taken by a tool of the server';
  return name.startsWith(subJobPrefix) ? `names that begin with "${subJobPrefix}" belong to workflows` : null;
}
