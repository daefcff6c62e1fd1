import { AppError } from '../../errors/app-error.js';

const installHint = (major: number) =>
  `Install the package postgresql-client-${major} (Debian and Ubuntu; apt.postgresql.org has every version), postgresql${major} (Red Hat) ` +
  `or postgresql@${major} (Homebrew), or add the folder of a newer version to the PATH`;

/** No installed client programs support the server. `found`: the versions that are installed, with their folders. */
export function pgToolsMissing(server: string, major: number, found: readonly string[]): AppError {
  const there =
    found.length === 0 ? 'pg_dump was not found on the PATH or in the usual folders' : `Found: ${found.join(', ')}`;
  return new AppError({
    code: 'pg_tools_missing',
    message: `Postgres ${server} needs pg_dump and pg_restore of version ${major} or newer. ${there}. ${installHint(major)}. Or stop Nightshift and copy its data directory (docs/operations.md).`,
    details: { server, major },
  });
}

/** A client program failed; `output` is the end of its error output. */
export function pgToolFailed(tool: string, output: string): AppError {
  return new AppError({ code: 'pg_tool_failed', message: `${tool} failed: ${output}`, details: { tool } });
}

export function backupExists(file: string): AppError {
  return new AppError({
    code: 'backup_exists',
    message: `${file} already exists. Choose another name, or move the file.`,
  });
}

export function backupFolderMissing(folder: string): AppError {
  return new AppError({
    code: 'backup_folder_missing',
    message: `The folder ${folder} does not exist. Create it, or choose another file.`,
  });
}

export function notABackup(file: string, why: string): AppError {
  return new AppError({ code: 'not_a_backup', message: `${file} is not a backup of Nightshift: ${why}.` });
}

/** A newer build wrote the backup, and this build does not know all of its migrations. */
export function backupOfNewerBuild(file: string, migration: string): AppError {
  return new AppError({
    code: 'backup_too_new',
    message: `${file} was restored, but has migration ${migration}, which this build does not know. Start the build that wrote it, or a newer one.`,
    details: { migration },
  });
}

export function serverOlderThanBackup(file: string, archive: number, server: string): AppError {
  return new AppError({
    code: 'postgres_too_old',
    message: `${file} comes from Postgres ${archive} and cannot be restored to Postgres ${server}. Restore it to Postgres ${archive} or newer.`,
  });
}

export function databaseInUse(sessions: number): AppError {
  return new AppError({
    code: 'database_in_use',
    message: `Nightshift has ${sessions} open sessions on this database. Stop all its processes, then restore.`,
  });
}

export function databaseNotEmpty(): AppError {
  return new AppError({
    code: 'database_not_empty',
    message:
      'This database contains an installation. Restore to an empty database or data directory, or add --replace to delete the installation.',
  });
}

/** Row-level security would omit rows from the backup. */
export function rowsHidden(tables: readonly string[]): AppError {
  return new AppError({
    code: 'backup_not_allowed',
    message: `The login of DATABASE_URL cannot read every row of ${tables.join(', ')}. Use the login that runs migrations, a member of nightshift_owner.`,
    details: { tables },
  });
}

export function ownerMissing(role: string): AppError {
  return new AppError({
    code: 'restore_not_allowed',
    message: `The backup has objects of the login "${role}", and the login of DATABASE_URL is not a member of it. Run: GRANT "${role}" TO the login, or restore with a superuser.`,
    details: { role },
  });
}
