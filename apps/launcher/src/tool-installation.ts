import { resolve } from 'node:path';

import { type Config, queuesServed, toolDatabaseProblem, toolsDatabaseUrl } from '#platform';

import { labelOf, listOf } from './installation.js';
import { databaseNeeded, toolsKeyNeeded, toolsLoginRefused, toolsSettingRefused } from './launcher.errors.js';

/** What a process of isolated tools has of an installation. */
export interface ToolInstallation {
  /** Logs in as `nightshift_tools`. */
  readonly databaseUrl: string;
  readonly toolsKey: string;
  readonly previousToolsKeys: readonly string[];
  /** For people. */
  readonly databaseLabel: string;
  readonly dataDir: string;
}

const LOGIN = 'nightshift_tools';

/**
 * Reads and checks the settings of role tools, and that the database accepts its login. Migrates nothing. Throws `database_needed`,
 * `tools_key_needed`, `tools_setting_refused` and `tools_login_refused`.
 */
export async function openToolInstallation(config: Config): Promise<ToolInstallation> {
  const { DATABASE_URL: given, NIGHTSHIFT_TOOLS_KEY: toolsKey, DATA_DIR } = config.values;
  if (given === undefined) throw databaseNeeded('tools');
  assertNarrow(config);
  if (toolsKey === undefined) throw toolsKeyNeeded();
  const url = new URL(given);
  if (url.username !== '' && url.username !== LOGIN) {
    throw toolsSettingRefused(
      `Role tools logs in as ${LOGIN}: remove the login of another role from DATABASE_URL (postgres://host:port/database).`,
    );
  }
  const databaseUrl = url.password === '' ? toolsDatabaseUrl(given, toolsKey) : given;
  const databaseLabel = labelOf(given, null);
  const problem = await toolDatabaseProblem(databaseUrl);
  if (problem !== null) throw toolsLoginRefused(databaseLabel, problem.text, problem.cause);
  const previousToolsKeys = listOf(config.values.NIGHTSHIFT_PREVIOUS_TOOLS_KEYS ?? '');
  return { databaseUrl, toolsKey, previousToolsKeys, databaseLabel, dataDir: resolve(DATA_DIR) };
}

/** A tool process runs the code of tools: it must not have what they must not reach. */
function assertNarrow(config: Config): void {
  const { NIGHTSHIFT_SECRET, NIGHTSHIFT_PREVIOUS_SECRETS, JWT_SECRET } = config.values;
  const secrets = { NIGHTSHIFT_SECRET, NIGHTSHIFT_PREVIOUS_SECRETS, JWT_SECRET };
  const [name] = Object.entries(secrets).find(([, value]) => value !== undefined) ?? [];
  if (name !== undefined) {
    throw toolsSettingRefused(
      `Role tools must run without ${name}: remove it, and set NIGHTSHIFT_TOOLS_KEY (\`npx nightshift admin tools-key\` prints it).`,
    );
  }
  if (queuesServed(config.values).includes('jobs')) {
    throw toolsSettingRefused('Role tools runs no jobs: remove jobs from WORKER_QUEUES, or use role worker.');
  }
}
