import { mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';

import {
  AppError,
  type Config,
  type DatabaseUrls,
  databaseUrls,
  dataDirSecret,
  EmbeddedPostgres,
  migrate,
  previousDataDirSecrets,
} from '#platform';

import { databaseNeeded, databaseUnusable, secretNeeded } from './launcher.errors.js';
import { readServingNote } from './serving-note.js';

/** The database of this installation, migrated, and the secret it belongs to. */
export interface Installation {
  readonly urls: DatabaseUrls;
  readonly secret: string;
  /** Secrets before that one: what was stored under them can still be read. */
  readonly previousSecrets: readonly string[];
  /** For people. */
  readonly databaseLabel: string;
  /** Only when the Postgres is ours. */
  readonly embedded: EmbeddedPostgres | null;
  readonly dataDir: string;
}

/** Starts the embedded Postgres unless DATABASE_URL names one, and migrates. `cleanUp` undoes what was started. */
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

/** The error for a directory that is in use also includes the address at which its owner serves. */
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
