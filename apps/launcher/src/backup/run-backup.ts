import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';

import { z } from 'zod';

import { voidRestoredLeases } from '#jobs';
import {
  AppError,
  assertBackupReadable,
  assertBackupWritable,
  Config,
  ConfigError,
  databaseUrls,
  dataDirSecret,
  defined,
  dumpDatabase,
  embeddedDatabaseUrl,
  EmbeddedPostgres,
  hasDataDirSecret,
  hasEmbeddedData,
  inOwnerTransaction,
  restoreDatabase,
} from '#platform';
import { skipRestoredSlots } from '#schedules';
import { interruptRestoredCalls } from '#tools';

import type { Terminal } from '../terminal/terminal.js';

/** The request of `nightshift backup` and `nightshift restore`. */
const backupRequest = z.strictObject({
  command: z.enum(['backup', 'restore']),
  file: z.string(),
  dataDir: z.string().optional(),
  /** For a restore: delete the existing installation. */
  replace: z.boolean().default(false),
  /** Whether to print the result as a line of JSON. */
  json: z.boolean(),
});

type BackupRequest = z.infer<typeof backupRequest>;

export interface BackupInit {
  /** A `BackupRequest` as JSON. */
  readonly request: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly out: Terminal;
  readonly errors: Terminal;
}

/**
 * `backup FILE` and `restore FILE` for the installation of the settings. The file, the data directory and pg_dump are checked
 * before anything is created. Resolves with the exit code: 0 done, 1 failed, 2 usage.
 */
export async function runBackup({ request, environment, out, errors }: BackupInit): Promise<number> {
  const asked = backupRequest.parse(JSON.parse(request));
  const { json } = asked;
  try {
    const { dataDir: DATA_DIR } = asked;
    const config = Config.from({ ...environment, ...defined({ DATA_DIR }) });
    const work = { asked, config, path: environment['PATH'] ?? '', out };
    await (asked.command === 'backup' ? backUp(work) : restore(work));
    return 0;
  } catch (error) {
    const isUsage = error instanceof ConfigError;
    if (!isUsage && !(error instanceof AppError)) throw error;
    const [code, exitCode] = isUsage ? ['usage', 2] : [error.code, 1];
    if (json) errors.line(JSON.stringify({ error: { code, message: error.message, remedy: null }, exitCode }));
    else errors.line(errors.style('red', error.message));
    return exitCode;
  }
}

interface Work {
  readonly asked: BackupRequest;
  readonly config: Config;
  readonly path: string;
  readonly out: Terminal;
}

/** Other processes may run at the same time: the backup contains what they had committed when it began. */
async function backUp({ asked, config, path, out }: Work): Promise<void> {
  const { DATABASE_URL: given, DATA_DIR } = config.values;
  if (given === undefined && !(await hasEmbeddedData(DATA_DIR))) throw noDataToBackUp(resolve(DATA_DIR));
  const target = resolve(asked.file);
  await assertBackupWritable({ file: target, path, embedded: given === undefined });
  await using cleanUp = new AsyncDisposableStack();
  const databaseUrl = given ?? (await openEmbedded(config, cleanUp, 'share'));
  const { file, bytes, server, tools } = await dumpDatabase({ databaseUrl, file: target, path });
  if (asked.json) out.line(JSON.stringify({ file, bytes, postgres: server, pgDump: tools }));
  else {
    out.line(`Wrote ${file}: ${(bytes / 1_000_000).toFixed(1)} MB, Postgres ${server}, written with pg_dump ${tools}.`);
    out.line(secretNote(config, 'Back up the secret separately'));
  }
}

async function restore({ asked, config, path, out }: Work): Promise<void> {
  const { DATABASE_URL: given, NIGHTSHIFT_SECRET: givenSecret, DATA_DIR } = config.values;
  const usesDataDir = given === undefined || givenSecret === undefined;
  if (usesDataDir && !(await isRestoreTarget(config))) throw noRestoreTarget(resolve(DATA_DIR));
  const file = resolve(asked.file);
  await assertBackupReadable({ file, path, embedded: given === undefined });
  await using cleanUp = new AsyncDisposableStack();
  const databaseUrl = given ?? (await openEmbedded(config, cleanUp, 'own'));
  const urls = databaseUrls(databaseUrl, givenSecret ?? (await dataDirSecret(resolve(DATA_DIR))));
  const { server } = await restoreDatabase({
    ...{ urls, file, path, replace: asked.replace },
    adapt: () =>
      inOwnerTransaction(urls.owner, async (tx) => {
        await voidRestoredLeases(tx);
        await interruptRestoredCalls(tx);
        await skipRestoredSlots(tx, Date.now());
      }),
  });
  if (asked.json) out.line(JSON.stringify({ file, postgres: server }));
  else {
    out.line(`Restored ${file} to Postgres ${server}.`);
    out.line(secretNote(config, 'Start Nightshift with the secret of the backed-up installation'));
  }
}

/**
 * Whether the directory belongs to the backed-up installation. The operator copies its secret there before the restore, because restored rows
 * need it. So a directory without a secret is probably mistyped.
 */
async function isRestoreTarget({ values }: Config): Promise<boolean> {
  if (values.NIGHTSHIFT_SECRET === undefined) return hasDataDirSecret(values.DATA_DIR);
  return (await stat(values.DATA_DIR).catch(() => null))?.isDirectory() ?? false;
}

function secretNote({ values }: Config, advice: string): string {
  const place = values.NIGHTSHIFT_SECRET === undefined ? `${resolve(values.DATA_DIR)}/secret` : 'NIGHTSHIFT_SECRET';
  return `${advice} (${place}): API keys and stored provider keys work only with this secret.`;
}

/** The embedded Postgres: started for this command, or with `share` the one of a running Nightshift. */
async function openEmbedded(config: Config, cleanUp: AsyncDisposableStack, how: 'own' | 'share'): Promise<string> {
  const dataDir = resolve(config.values.DATA_DIR);
  try {
    const embedded = await EmbeddedPostgres.start({ dataDir });
    cleanUp.defer(() => embedded.stop());
    return embedded.url;
  } catch (error) {
    const port = error instanceof AppError && error.code === 'already_running' ? error.details['port'] : undefined;
    if (how === 'own' || typeof port !== 'number' || port === 0) throw error;
    return embeddedDatabaseUrl(dataDir, port);
  }
}

function noDataToBackUp(dataDir: string): AppError {
  return new AppError({
    code: 'no_installation',
    message:
      `${dataDir} contains no database. Run this in the folder of \`npm start\`, name its data directory with --data-dir, ` +
      'or set DATABASE_URL.',
  });
}

function noRestoreTarget(dataDir: string): AppError {
  return new AppError({
    code: 'no_installation',
    message:
      `${dataDir} contains no secret of an installation. Correct --data-dir; or, for a new data directory, create it and copy ` +
      "the backed-up installation's secret to it first (or set NIGHTSHIFT_SECRET).",
  });
}
