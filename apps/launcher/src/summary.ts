import { join, relative } from 'node:path';

import { type Config, queuesServed } from '#platform';

import type { DemoKey } from './demo-workspace.js';
import type { RunningRole } from './running-role.js';
import type { Terminal } from './terminal/terminal.js';

/** The facts that the summary shows. */
export interface SummaryFacts {
  readonly config: Config;
  readonly databaseLabel: string;
  readonly modelLabel: string;
  readonly running: RunningRole;
  readonly demoKey: DemoKey | null;
  readonly startedInMs: number;
  readonly dataDir: string;
  /** The folder where `npx nightshift` runs this build. */
  readonly checkout: string;
}

/** Prints a few lines after a start: the role, its parts and limits, and the addresses. */
export function printSummary(terminal: Terminal, facts: SummaryFacts): void {
  const { values } = facts.config;
  const bus = values.BUS ?? (values.ROLE === 'all' ? 'memory' : 'postgres');
  const seconds = (ms: number) => (ms % 60_000 === 0 ? `${ms / 60_000} min` : `${ms / 1_000} s`);
  terminal.line(
    `${terminal.style('bold', 'Nightshift')} is ready: role ${values.ROLE}, in ${(facts.startedInMs / 1_000).toFixed(1)} s`,
  );
  const row = (name: string, text: string) => {
    terminal.line(`  ${terminal.style('dim', name.padEnd(9))} ${text}`);
  };
  row('database', facts.databaseLabel);
  row('bus', bus);
  row('model', facts.modelLabel);
  const served = queuesServed(values);
  if (values.ROLE === 'api' || served.includes('jobs')) {
    row(
      'limits',
      `${values.WORKER_SLOTS} jobs at once (WORKER_SLOTS), ${values.MAX_ROUNDS} rounds and ${seconds(values.JOB_TIMEOUT_MS)} a job, ` +
        `${values.MAX_TOOL_CALLS_PER_ROUND} tool calls a round, ${seconds(values.TOOL_TIMEOUT_MS)} a tool`,
    );
  }
  if (served.includes('tool-execution')) {
    row(
      'isolated',
      `${values.TOOL_SLOTS} tool calls at once, ${values.TOOL_SLOTS_PER_WORKSPACE} of a workspace, ${values.TOOL_SLOTS_PER_TOOL} of a tool`,
    );
  }
  const { url, healthUrl } = facts.running;
  if (url !== null) {
    const explorer = values.GRAPHQL_EXPLORER ? 'an explorer in a browser; ' : '';
    const socket = `${url.replace('http', 'ws')}/graphql`;
    row('GraphQL', `${terminal.style('cyan', `${url}/graphql`)} (${explorer}subscriptions: ${socket})`);
    row('REST', `${terminal.style('cyan', `${url}/api/jobs`)} (all routes: ${terminal.style('cyan', `${url}/docs`)})`);
    row('OpenAI', `${terminal.style('cyan', `${url}/v1`)} as the base URL of any SDK`);
  }
  if (healthUrl !== null) {
    const metrics =
      url === null || values.METRICS_TOKEN !== undefined ? '/metrics' : '/metrics once METRICS_TOKEN is set';
    row('health', `${healthUrl}/healthz, /readyz, ${metrics}`);
  }
  if (facts.demoKey !== null) {
    row('API key', keyText(terminal, facts.demoKey));
    if (url !== null && facts.demoKey.state !== 'revoked') row('terminal', terminalCommand(facts));
  }
  terminal.line();
}

/** A command that works as printed in any folder and shell, for any port and data directory. */
function terminalCommand({ dataDir, checkout }: SummaryFacts): string {
  const place = dataDir === join(checkout, '.nightshift') ? '' : ` --data-dir ${quoted(dataDir)}`;
  return `cd ${quoted(checkout)} && npx nightshift${place} run "What is 17 * 23?" --tools calculate`;
}

/** Double quotes work in every shell. Folders rarely contain characters that are special within them. */
function quoted(path: string): string {
  return /^[\w./:\\-]+$/.test(path) ? path : `"${path}"`;
}

function keyText(terminal: Terminal, key: DemoKey): string {
  const file = relative(process.cwd(), key.file);
  const place = file.startsWith('..') ? key.file : file;
  // Output that is not a terminal is a log, which may be stored and collected, so it must not contain the key.
  const shown = `${key.text.slice(0, 16)}…`;
  if (key.state === 'revoked')
    return `${shown}  was revoked; to get a new one, delete ${place} and start again, or run \`npx nightshift admin keys create\``;
  if (key.state === 'new' && terminal.isTerminal)
    return `${terminal.style('green', key.text)}  shown once; stored in ${place}`;
  if (key.state === 'new') return `${shown}  the whole key is in ${place}, readable by its owner only`;
  return `${shown}  in ${place} (delete the file and start again for a new one)`;
}
