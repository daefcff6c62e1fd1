import { subJobPrefix } from '../sub-job-names.js';

/** The tools of all libs, also of those that a process does not load or that settings turn off. A test finds the tools that the list lacks. */
const SERVER_TOOLS: ReadonlySet<string> = new Set([
  ...['add_numbers', 'ask_person', 'calculate', 'coingecko_price', 'fetch_url', 'get_current_time'],
  ...['get_jobs', 'job_result', 'read_tool_output', 'start_job', 'tavily_search', 'web_search'],
]);

/** Why a plugin cannot use a name for a tool, as a clause; null: it can. */
export function problemOfToolName(name: string): string | null {
  if (SERVER_TOOLS.has(name)) return 'its name is taken by a tool of the server';
  return name.startsWith(subJobPrefix) ? `names that begin with "${subJobPrefix}" belong to workflows` : null;
}
