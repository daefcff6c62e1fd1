import { resolve } from 'node:path';

import { voidRestoredLeases } from '#jobs';
import {
  AppError,
  Config,
  ConfigError,
  databaseUrls,
  dataDirSecret,
  dumpDatabase,
  embeddedDatabaseUrl,
  EmbeddedPostgres,
  restoreDatabase,
} from '#platform';
import { interruptRestoredCalls } from '#tools';
import { skipRestoredSlots } from '#workflows';

import { UsageError } from '../arguments.js';
import type { Terminal } from '../terminal.js';
import { type BackupArguments, parseBackupArguments } from './backup-arguments.js';

export interface BackupInit {
  readonly words: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly out: Terminal;
  readonly errors: Terminal;
}

/** `backup FILE` and `restore FILE` for the installation of the settings. Resolves with the exit code: 0 done, 1 failed, 2 usage. */
export async function runBackup({ words, environment, out, errors }: BackupInit): Promise<number> {
  const json = words.includes('--json');
  try {
    const asked = parseBackupArguments(words);
    const { dataDir: DATA_DIR } = asked;
    const config = Config.from({ ...environment, ...(DATA_DIR === undefined ? {} : { DATA_DIR }) });
    const work = { asked, config, path: environment['PATH'] ?? '', out };
    await (asked.command === 'backup' ? backUp(work) : restore(work));
    return 0;
  } catch (error) {
    const isUsage = error instanceof UsageError || error instanceof ConfigError;
    if (!isUsage && !(error instanceof AppError)) throw error;
    const [code, exitCode] = isUsage ? ['usage', 2] : [error.code, 1];
    if (json) errors.line(JSON.stringify({ error: { code, message: error.message, remedy: null }, exitCode }));
    else errors.line(errors.style('red', error.message));
    return exitCode;
  }
}

interface Work {
  readonly asked: BackupArguments;
  readonly config: Config;
  readonly path: string;
  readonly out: Terminal;
}

/** Other processes may run at the same time: the backup holds what they had committed when it began. */
async function backUp({ asked, config, path, out }: Work): Promise<void> {
  await using cleanUp = new AsyncDisposableStack();
  const databaseUrl = config.values.DATABASE_URL ?? (await openEmbedded(config, cleanUp, 'share'));
  const { file, bytes, server, tools } = await dumpDatabase({ databaseUrl, file: resolve(asked.file), path });
  if (asked.json) out.line(JSON.stringify({ file, bytes, postgres: server, pgDump: tools }));
  else {
    out.line(`Wrote ${file}: ${(bytes / 1_000_000).toFixed(1)} MB, Postgres ${server}, written with pg_dump ${tools}.`);
    out.line(secretNote(config, 'Back up the secret separately'));
  }
}

async function restore({ asked, config, path, out }: Work): Promise<void> {
  const { DATABASE_URL: given, NIGHTSHIFT_SECRET: givenSecret, DATA_DIR } = config.values;
  await using cleanUp = new AsyncDisposableStack();
  const databaseUrl = given ?? (await openEmbedded(config, cleanUp, 'own'));
  const urls = databaseUrls(databaseUrl, givenSecret ?? (await dataDirSecret(resolve(DATA_DIR))));
  const file = resolve(asked.file);
  const { server } = await restoreDatabase({
    ...{ urls, file, path, replace: asked.replace },
    adapt: async (client) => {
      await voidRestoredLeases(client);
      await interruptRestoredCalls(client);
      await skipRestoredSlots(client, Date.now());
    },
  });
  if (asked.json) out.line(JSON.stringify({ file, postgres: server }));
  else {
    out.line(`Restored ${file} to Postgres ${server}.`);
    out.line(secretNote(config, 'Start Nightshift with the secret of the backed-up installation'));
  }
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
