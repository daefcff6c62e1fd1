import { access, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

import { EMBEDDED_VERSION } from '../embedded-postgres.js';
import { readArchive } from './archive.js';
import { backupExists, backupFolderMissing, notABackup } from './backup.errors.js';
import { findPgTools } from './pg-tools.js';

/**
 * A backup file, before any database is opened. `path` is the variable PATH; `embedded`: the database is embedded, so its version is known.
 */
export interface CheckInit {
  readonly file: string;
  readonly path: string;
  readonly embedded: boolean;
}

/** Throws `backup_exists`, `backup_folder_missing`, `pg_tools_missing`. */
export async function assertBackupWritable({ file, path, embedded }: CheckInit): Promise<void> {
  if (await isThere(file)) throw backupExists(file);
  if (!(await isThere(dirname(file)))) throw backupFolderMissing(dirname(file));
  if (embedded) await findPgTools(EMBEDDED_VERSION, path);
}

/** Throws `not_a_backup`, `pg_tools_missing`. */
export async function assertBackupReadable({ file, path, embedded }: CheckInit): Promise<void> {
  const found = await stat(file).catch(() => null);
  if (found === null) throw notABackup(file, 'the file does not exist');
  if (!found.isFile()) throw notABackup(file, 'it is not a file');
  if (embedded) await readArchive(await findPgTools(EMBEDDED_VERSION, path), file);
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
