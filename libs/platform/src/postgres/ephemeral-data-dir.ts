import { chmod, lstat, mkdtemp, readdir, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { DataDirLock } from './data-dir-lock.js';
import { stopOrphan } from './embedded-postgres.js';

const PREFIX = 'nightshift-ephemeral-';

/** A data directory for one process. */
export interface EphemeralDataDir {
  readonly path: string;
  /** Deletes the directory. The process must have closed everything that uses it. */
  readonly remove: () => Promise<void>;
}

/** Creates a data directory in the temporary folder, after deleting those of killed processes, with any Postgres that still runs there. */
export async function createEphemeralDataDir(parent = tmpdir()): Promise<EphemeralDataDir> {
  for (const name of await readdir(parent)) if (name.startsWith(PREFIX)) await removeAbandoned(join(parent, name));
  const path = await mkdtemp(join(parent, `${PREFIX}${process.pid}-`));
  await chmod(path, 0o711); // under root, Postgres runs as another user; only the owner can read the secrets in it
  return { path, remove: () => remove(path) };
}

/** Under root, the data of Postgres may be elsewhere (`EmbeddedPostgres`): then `postgres` is a link. */
async function remove(path: string): Promise<void> {
  const place = await readlink(join(path, 'postgres')).catch(() => null);
  for (const folder of [...(place === null ? [] : [dirname(place)]), path])
    await rm(folder, { recursive: true, force: true });
}

/** Does nothing if a process uses the directory, or another user owns it. */
async function removeAbandoned(path: string): Promise<void> {
  const owner = Number(path.slice(path.lastIndexOf(PREFIX) + PREFIX.length).split('-')[0]);
  const entry = await lstat(path).catch(() => null);
  if (entry?.isDirectory() !== true || entry.uid !== (process.getuid?.() ?? entry.uid) || isAlive(owner)) return;
  const lock = await DataDirLock.take(path).catch(() => null); // another start deletes it, or it is gone
  if (lock === null) return;
  try {
    await stopOrphan(join(path, 'postgres'));
    await remove(path);
  } finally {
    await lock.release();
  }
}

/** A process that has just created its directory has not taken its lock yet. */
function isAlive(pid: number): boolean {
  if (!(pid > 0)) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
