import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

import { openAuth } from '#auth';
import { startDemoModel } from '#models';
import {
  AppError,
  type Config,
  type DatabaseUrls,
  databaseUrls,
  dataDirSecret,
  EmbeddedPostgres,
  type Logger,
  migrate,
  openPlatform,
  openToolPlatform,
  type Platform,
  previousDataDirSecrets,
  queuesServed,
  type Redactor,
  Secret,
  type Settings,
  toolDatabaseProblem,
  toolsDatabaseUrl,
} from '#platform';

import { type DemoKey, ensureDemoWorkspace } from './demo-workspace.js';
import { fetchKeys } from './fetch-keys.js';
import {
  databaseNeeded,
  databaseUnusable,
  portTaken,
  secretNeeded,
  toolsKeyNeeded,
  toolsLoginRefused,
  toolsSettingRefused,
} from './launcher.errors.js';
import type { RoleStarters, RunningRole } from './running-role.js';
import type { StopRequest } from './stop-request.js';

/** The parts of an installation that a process of isolated tools has. */
interface ToolInstallation {
  /** Logs in as `nightshift_tools`. */
  readonly databaseUrl: string;
  readonly toolsKey: string;
  readonly previousToolsKeys: readonly string[];
  /** The database, for people. */
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

/** Rejects settings that the code of tools must not reach, because a tool process runs that code. */
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

/** The input of a start. */
export interface StartInit {
  readonly config: Config;
  readonly logger: Logger;
  readonly redactor: Redactor;
  readonly roles: RoleStarters;
  readonly stop: StopRequest;
}

/** The parts that a start has opened. */
export interface Started {
  readonly config: Config;
  readonly databaseLabel: string;
  readonly modelLabel: string;
  readonly running: RunningRole;
  readonly demoKey: DemoKey | null;
  /** Where the secret, the demo key and the notes of this installation are. */
  readonly dataDir: string;
}

/**
 * Starts everything, from the database to the endpoints. `cleanUp` stops it in reverse order: endpoints and jobs first, then auth, bus and
 * pools, the model, and Postgres last. A stop request ends the start at its next step.
 */
export async function start(init: StartInit, cleanUp: AsyncDisposableStack): Promise<Started> {
  return init.config.values.ROLE === 'tools' ? startTools(init, cleanUp) : startServing(init, cleanUp);
}

/** Starts a process of isolated tools. It has neither the installation's secret nor a login that migrates or serves the API. */
async function startTools(init: StartInit, cleanUp: AsyncDisposableStack): Promise<Started> {
  const { config, logger, redactor, roles, stop } = init;
  const { dataDir, databaseLabel, ...access } = await openToolInstallation(config);
  for (const key of [access.toolsKey, ...access.previousToolsKeys]) redactor.add(new Secret(key));
  const { label: modelLabel } = await chooseModel(config, cleanUp);
  const platform = await openToolPlatform({ config, logger, redactor, ...access });
  cleanUp.defer(() => platform.close());
  stop.signal.throwIfAborted();
  const startOf = starterOf(roles, 'tools');
  const running = await startRole(platform, () => startOf(platform));
  cleanUp.defer(() => running.close());
  hurryWhenAsked(init, running);
  return { config, databaseLabel, modelLabel, running, demoKey: null, dataDir };
}

async function startServing(init: StartInit, cleanUp: AsyncDisposableStack): Promise<Started> {
  const { stop, roles, redactor } = init;
  const installation = await openInstallation(init.config, cleanUp);
  installation.embedded?.onUnexpectedExit((log) => {
    stop.fail(new Error(`The embedded Postgres ended: ${log.trim().split('\n').at(-1) ?? ''}`));
  });
  stop.signal.throwIfAborted();
  const { config, label: modelLabel } = await chooseModel(init.config, cleanUp);
  redactor.add(new Secret(installation.secret));
  const { urls, secret, previousSecrets, databaseLabel, dataDir } = installation;
  for (const previous of previousSecrets) redactor.add(new Secret(previous));
  const { logger } = init;
  const platform = await openPlatform({ config, logger, redactor, urls, secret, previousSecrets });
  cleanUp.defer(() => platform.close());
  const { prisma, bus } = platform;
  const auth = openAuth({ config, prisma, bus, secret, previousSecrets, fetchKeys, logger });
  cleanUp.defer(() => {
    auth.close();
  });
  const demoKey = config.values.ROLE === 'all' ? await ensureDemoWorkspace(auth, dataDir) : null;
  if (demoKey !== null) redactor.add(new Secret(demoKey.text));
  stop.signal.throwIfAborted();
  const startOf = starterOf(roles, config.values.ROLE);
  const running = await startRole(platform, () => startOf(platform, auth));
  cleanUp.defer(() => running.close());
  if (demoKey !== null && running.url !== null) {
    cleanUp.defer(await leaveServingNote(dataDir, running.url));
  }
  hurryWhenAsked(init, running);
  return { config, databaseLabel, modelLabel, running, demoKey, dataDir };
}

function hurryWhenAsked({ stop, logger }: StartInit, running: RunningRole): void {
  stop.hurrySignal.addEventListener('abort', () => {
    running.hurry().catch((error: unknown) => {
      logger.warn({ err: error }, 'hurrying failed');
    });
  });
}

/** `launch` has already rejected a role that the entry point cannot start. */
function starterOf<Role extends Settings['ROLE']>(roles: RoleStarters, role: Role): NonNullable<RoleStarters[Role]> {
  const startOf = roles[role];
  if (startOf === undefined) throw new TypeError(`No starter for role ${role}`);
  return startOf;
}

async function startRole(platform: Platform, run: () => Promise<RunningRole>): Promise<RunningRole> {
  const { HOST, PORT, WORKER_PORT, ROLE } = platform.config.values;
  try {
    return await run();
  } catch (error) {
    const isTaken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
    if (!isTaken) throw error;
    const isWorker = ROLE === 'worker' || ROLE === 'tools';
    const place = isWorker ? { port: WORKER_PORT, remedy: 'WORKER_PORT' } : { port: PORT, remedy: '--port' };
    throw portTaken({ host: HOST, ...place }, error);
  }
}

/** The settings with the default model, and its name for people. */
interface ChosenModel {
  readonly config: Config;
  readonly label: string;
}

/**
 * Chooses the provider of the environment: MODEL_BASE_URL, else OPENROUTER_API_KEY, else OPENAI_API_KEY. Without any, starts the demo model
 * on loopback and sets the settings to it. A process for isolated tools calls no model.
 */
export async function chooseModel(config: Config, cleanUp: AsyncDisposableStack): Promise<ChosenModel> {
  const { ROLE, MODEL_BASE_URL, MODEL_NAME, OPENROUTER_API_KEY, OPENAI_API_KEY } = config.values;
  if (ROLE !== 'api' && !queuesServed(config.values).includes('jobs'))
    return { config, label: 'none: no jobs run here' };
  const named = MODEL_NAME ?? 'its default model';
  if (MODEL_BASE_URL !== undefined) return { config, label: `${named} at ${new URL(MODEL_BASE_URL).host}` };
  if (OPENROUTER_API_KEY !== undefined) return { config, label: `${named} at OpenRouter` };
  if (OPENAI_API_KEY !== undefined) return { config, label: `${named} at OpenAI` };
  const demo = await startDemoModel();
  cleanUp.defer(() => demo.close());
  return {
    config: config.with({ MODEL_BASE_URL: demo.url, MODEL_NAME: MODEL_NAME ?? demo.modelName }),
    label: `${demo.modelName}, a stand-in that answers by rules (for a real one: OPENROUTER_API_KEY, OPENAI_API_KEY or MODEL_BASE_URL)`,
  };
}

/** The migrated database of this installation, and its secret. */
export interface Installation {
  readonly urls: DatabaseUrls;
  readonly secret: string;
  /** Earlier secrets: values that were encrypted with them can still be read. */
  readonly previousSecrets: readonly string[];
  /** The database, for people. */
  readonly databaseLabel: string;
  /** Null: the operator runs Postgres. */
  readonly embedded: EmbeddedPostgres | null;
  readonly dataDir: string;
}

/** Starts the embedded Postgres unless DATABASE_URL names a server, and migrates. `cleanUp` stops it. */
export async function openInstallation(config: Config, cleanUp: AsyncDisposableStack): Promise<Installation> {
  const { ROLE: role, DATABASE_URL: given, NIGHTSHIFT_SECRET: givenSecret } = config.values;
  const { NIGHTSHIFT_PREVIOUS_SECRETS: previous = '' } = config.values;
  const dataDir = resolve(config.values.DATA_DIR);
  if (given === undefined && role !== 'all') throw databaseNeeded(role);
  if (given !== undefined && givenSecret === undefined && role !== 'all') throw secretNeeded(role);
  const embedded = given === undefined ? await startEmbedded(dataDir) : null;
  if (embedded !== null) cleanUp.defer(() => embedded.stop());
  const secret = givenSecret ?? (await ownSecret(dataDir));
  const ownerUrl = given ?? embedded?.url;
  if (ownerUrl === undefined) throw databaseNeeded(role);
  const urls = databaseUrls(ownerUrl, secret);
  const databaseLabel = labelOf(ownerUrl, embedded);
  await migrate(urls).catch((error: unknown) => {
    throw given === undefined || error instanceof AppError ? error : databaseUnusable(databaseLabel, error);
  });
  const stored = givenSecret === undefined ? await previousDataDirSecrets(dataDir) : [];
  const previousSecrets = [...listOf(previous), ...stored];
  return { urls, secret, previousSecrets, databaseLabel, embedded, dataDir };
}

/** If the directory is in use, the error includes the address of the process that uses it. */
async function startEmbedded(dataDir: string): Promise<EmbeddedPostgres> {
  try {
    return await EmbeddedPostgres.start({ dataDir });
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'already_running') throw error;
    const url = await readServingNote(dataDir, error.details['pid']);
    if (url === undefined) throw error;
    const { code, message, details } = error;
    throw new AppError({ code, message: `${message} It serves ${url}.`, details, cause: error });
  }
}

async function ownSecret(dataDir: string): Promise<string> {
  await mkdir(dataDir, { recursive: true });
  return dataDirSecret(dataDir);
}

/** The entries of a comma-separated setting. */
export function listOf(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/** Host and database, never the login. */
export function labelOf(ownerUrl: string, embedded: EmbeddedPostgres | null): string {
  const { hostname, port, pathname } = new URL(ownerUrl);
  if (embedded !== null) return `embedded Postgres in ${embedded.dataDir} (${hostname}:${port})`;
  return `Postgres at ${hostname}:${port === '' ? '5432' : port}${pathname}`;
}

const fileOf = (dataDir: string) => join(dataDir, 'serving');

/** Writes the address of this process to the data directory, for other processes. Returns a function that removes the note. */
async function leaveServingNote(dataDir: string, url: string): Promise<() => Promise<void>> {
  await writeFile(fileOf(dataDir), `${process.pid} ${url}\n`);
  return async () => {
    // Another process with the same directory and its own DATABASE_URL may have replaced the note.
    if ((await readServingNote(dataDir, process.pid)) !== undefined) await rm(fileOf(dataDir), { force: true });
  };
}

/** The address of process `pid`; undefined if it has written no note, or the process of the note has exited. */
async function readServingNote(dataDir: string, pid: unknown): Promise<string | undefined> {
  const note = await readFile(fileOf(dataDir), 'utf8').catch(() => '');
  const [owner, url] = note.trim().split(' ');
  return owner === String(pid) ? url : undefined;
}
