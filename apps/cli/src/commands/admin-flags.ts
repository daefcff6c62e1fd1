import type { Command } from 'commander';

import { usageError } from '../cli.errors.js';
import { enumWord, listOf } from '../words.js';

type Row = Readonly<Record<string, unknown>>;

/** How `admin` sends a request and shows rows of its result. */
export interface FlagsRun {
  readonly rows: (request: Row, columns: Readonly<Record<string, string>>) => Promise<void>;
  readonly line: (request: Row | (() => Row), of: (row: Row) => string) => Promise<void>;
}

interface SetOptions {
  readonly description?: string;
  readonly default?: string;
  readonly rollout?: string;
  readonly by?: string;
  readonly allow?: string;
  readonly deny?: string;
  readonly unlist?: string;
}

/** `admin flags`: for whom features are on. */
export function addAdminFlags(admin: Command, { rows, line }: FlagsRun): void {
  const flags = admin.command('flags').description('Feature flags of the installation.');
  flags
    .command('list')
    .description('Lists all feature flags.')
    .action(() =>
      rows(
        { command: 'flags list' },
        {
          ...{ FLAG: 'name', DEFAULT: 'default', ROLLOUT: 'rolloutPercent', BY: 'rolloutBy' },
          ...{ ALLOWED: 'allowed', DENIED: 'denied', DESCRIPTION: 'description' },
        },
      ),
    );
  flags
    .command('set')
    .description(
      'Creates a feature flag, or changes the given properties of an existing one. A new flag is off for all users.',
    )
    .argument('<flag>', 'its name, for example new-search')
    .option('--description <text>', 'what the flag turns on')
    .option('--default <state>', 'on: for all users and workspaces except denied ones; off')
    .option('--rollout <percent>', '0 to 100: the share of workspaces or users for which the flag is on')
    .option('--by <unit>', 'the unit of the percentage: workspace, user')
    .option('--allow <ids>', 'workspaces and users for which the flag is on')
    .option('--deny <ids>', 'workspaces and users for which the flag is off')
    .option('--unlist <ids>', 'workspaces and users to remove from both lists')
    .action((name: string, options: SetOptions) =>
      line(
        () => ({ command: 'flags set', changes: { name, ...changesOf(options) } }),
        (row) => `${String(row['name'])}: ${termsOf(row)}`,
      ),
    );
  flags
    .command('remove')
    .description('Removes a feature flag: the feature is off for all users.')
    .argument('<flag>', 'its name')
    .action((name: string) => line({ command: 'flags remove', name }, () => `removed ${name}`));
  flags
    .command('history')
    .description('Lists the changes of a feature flag, newest first.')
    .argument('<flag>', 'its name')
    .action((name: string) =>
      rows({ command: 'flags history', name }, { AT: 'at', ACTION: 'action', CHANGE: 'details' }),
    );
}

function changesOf({ description, default: state, rollout, by, allow = '', deny = '', unlist = '' }: SetOptions): Row {
  return {
    ...{ allow: listOf(allow), deny: listOf(deny), unlist: listOf(unlist) },
    ...(description === undefined ? {} : { description }),
    ...(state === undefined ? {} : { defaultOn: enumWord(state, ['ON', 'OFF'], '--default') === 'ON' }),
    ...(rollout === undefined ? {} : { rolloutPercent: percentOf(rollout) }),
    ...(by === undefined ? {} : { rolloutBy: enumWord(by, ['WORKSPACE', 'USER'], '--by').toLowerCase() }),
  };
}

function percentOf(word: string): number {
  if (!/^\d{1,3}%?$/.test(word) || parseInt(word, 10) > 100)
    throw usageError(`--rollout must be a whole number from 0 to 100, not "${word}".`, 'Example: --rollout 20.');
  return parseInt(word, 10);
}

function termsOf(row: Row): string {
  const count = (list: unknown) => (Array.isArray(list) ? list.length : 0);
  const rollout = `${String(row['rolloutPercent'])} % of ${String(row['rolloutBy'])}s`;
  return `default ${String(row['default'])}, ${rollout}, ${count(row['allowed'])} allowed, ${count(row['denied'])} denied`;
}
