import { AppError } from '../errors/app-error.js';

/** The file of an applied migration has changed. */
export function migrationChanged(name: string): AppError {
  return new AppError({
    code: 'migration_changed',
    message: `Migration ${name} was changed after it had been applied. Restore the file and write a new migration instead.`,
    details: { name },
  });
}

/** The SQL of a migration failed, and its transaction was rolled back. */
export function migrationFailed(name: string, cause: unknown): AppError {
  return new AppError({
    code: 'migration_failed',
    message: `Migration ${name} failed and was rolled back: ${cause instanceof Error ? cause.message : String(cause)}`,
    details: { name },
    cause,
  });
}

/** The server of DATABASE_URL is older than this build supports. */
export function postgresTooOld(found: string, oldest: number): AppError {
  return new AppError({
    code: 'postgres_too_old',
    message: `The server of DATABASE_URL is Postgres ${found}; Nightshift needs Postgres ${oldest} or newer. Upgrade the server, or unset DATABASE_URL to use the Postgres that comes with Nightshift.`,
    details: { found, oldest },
  });
}

/** The login of DATABASE_URL lacks privileges that a migration needs. */
export function migrationNotAllowed(lacking: readonly string[]): AppError {
  return new AppError({
    code: 'migration_not_allowed',
    message: `The login of DATABASE_URL cannot prepare this database. It lacks: ${lacking.join('; ')}. Grant what it lacks, or use another login.`,
    details: { lacking },
  });
}

/** The password of the serving role does not match, and this login may not set it. */
export function roleNotReady(role: string, cause: unknown): AppError {
  return new AppError({
    code: 'database_role_not_ready',
    message:
      `The login of DATABASE_URL may not set the password of ${role}, and Postgres rejects the password derived from ` +
      `NIGHTSHIFT_SECRET. Use the NIGHTSHIFT_SECRET with which ${role} was set up, or a login with ADMIN OPTION on ${role}.`,
    details: { role },
    cause,
  });
}

/** The included Postgres cannot run here. */
export function embeddedUnavailable(why: string, cause?: unknown): AppError {
  const detail = cause instanceof Error ? `: ${cause.message}` : '';
  return new AppError({
    code: 'embedded_postgres_unavailable',
    message: `The Postgres that comes with Nightshift did not start: ${why}${detail}. Set DATABASE_URL to use another Postgres.`,
    cause,
  });
}

/** Another process uses the data directory. */
export function alreadyRunning(dataDir: string, holder: { readonly pid: number; readonly port: number }): AppError {
  const database = holder.port > 0 ? `, its Postgres on port ${holder.port}` : '';
  return new AppError({
    code: 'already_running',
    message: `Nightshift already runs on ${dataDir} (process ${holder.pid}${database}). Stop it first, or choose another --data-dir.`,
    details: { dataDir, ...holder },
  });
}

/** The server of a killed process does not end. */
export function orphanStays(dataDir: string, pid: number): AppError {
  return new AppError({
    code: 'orphan_postgres',
    message: `A Postgres of an earlier run still uses ${dataDir} and does not stop. End process ${pid} and start again.`,
    details: { dataDir, pid },
  });
}

/** Another major version of Postgres wrote the data. */
export function dataDirOfOtherVersion(dataDir: string, found: string, needed: string): AppError {
  return new AppError({
    code: 'data_dir_version',
    message: `The data in ${dataDir} was written by Postgres ${found}; this build includes Postgres ${needed}. Dump it with the old build, or choose another --data-dir.`,
    details: { dataDir, found, needed },
  });
}

/** A tool process reads data for a call that was settled or claimed by another process in the meantime. */
export class CallNotClaimed extends AppError {
  constructor() {
    super({
      code: 'unavailable',
      message: 'This tool process has no claimed call in this workspace.',
      retryable: true,
    });
  }
}

/** The database does not respond, or has no free connection. The request itself is valid. */
export class DatabaseUnavailable extends AppError {
  constructor(cause: unknown) {
    super({
      code: 'unavailable',
      message: 'The database cannot be reached or is overloaded. Try again shortly',
      retryable: true,
      retryAfterSeconds: 1,
      cause,
    });
  }
}
