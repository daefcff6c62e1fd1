import { AppError } from '../errors/app-error.js';

/** A migration that was applied once differs from its file now. */
export function migrationChanged(name: string): AppError {
  return new AppError({
    code: 'migration_changed',
    message: `Migration ${name} was changed after it had been applied. Restore the file and write a new migration instead.`,
    details: { name },
  });
}

/** A migration's SQL failed; its transaction was rolled back. */
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
    message: `The server of DATABASE_URL is Postgres ${found}; Nightshift needs Postgres ${oldest} or newer. Upgrade the server, or leave DATABASE_URL out to use the Postgres that comes with Nightshift.`,
    details: { found, oldest },
  });
}

/** The login of DATABASE_URL may not do what a migration needs. */
export function migrationNotAllowed(lacking: readonly string[]): AppError {
  return new AppError({
    code: 'migration_not_allowed',
    message: `The login of DATABASE_URL cannot prepare this database. It lacks: ${lacking.join('; ')}.`,
    details: { lacking },
  });
}

/** The serving role exists, but neither its password fits nor may this login set it. */
export function roleNotReady(role: string, cause: unknown): AppError {
  return new AppError({
    code: 'database_role_not_ready',
    message:
      `The login of DATABASE_URL may not set the password of ${role}, and the one derived from NIGHTSHIFT_SECRET is not ` +
      `accepted. Use the secret the role was set up with, or a login with ADMIN OPTION on ${role}.`,
    details: { role },
    cause,
  });
}

/** The Postgres that comes with Nightshift cannot run here. */
export function embeddedUnavailable(why: string, cause?: unknown): AppError {
  const detail = cause instanceof Error ? `: ${cause.message}` : '';
  return new AppError({
    code: 'embedded_postgres_unavailable',
    message: `The Postgres that comes with Nightshift did not start: ${why}${detail}. Set DATABASE_URL to use another one.`,
    cause,
  });
}

/** Another Nightshift uses the data directory. */
export function alreadyRunning(dataDir: string, holder: { readonly pid: number; readonly port: number }): AppError {
  const database = holder.port > 0 ? `, its Postgres on port ${holder.port}` : '';
  return new AppError({
    code: 'already_running',
    message: `Nightshift already runs on ${dataDir} (process ${holder.pid}${database}). Stop it first, or choose another --data-dir.`,
    details: { dataDir, ...holder },
  });
}

/** A server left behind by a killed process does not end. */
export function orphanStays(dataDir: string, pid: number): AppError {
  return new AppError({
    code: 'orphan_postgres',
    message: `A Postgres of an earlier run still uses ${dataDir} and does not stop. End process ${pid} and start again.`,
    details: { dataDir, pid },
  });
}

/** The data was written by another major version of Postgres. */
export function dataDirOfOtherVersion(dataDir: string, found: string, needed: string): AppError {
  return new AppError({
    code: 'data_dir_version',
    message: `The data in ${dataDir} was written by Postgres ${found}; this build brings Postgres ${needed}. Dump it with the old build, or choose another --data-dir.`,
    details: { dataDir, found, needed },
  });
}

/** A tool process reads what a call needs that was settled, or claimed by another process, in the meantime. */
export class CallNotClaimed extends AppError {
  constructor() {
    super({
      code: 'unavailable',
      message: 'This tool process has no claimed call in this workspace.',
      retryable: true,
    });
  }
}

/** The database does not answer, or has no connection left for us: nothing is wrong with the request. */
export class DatabaseUnavailable extends AppError {
  constructor(cause: unknown) {
    super({
      code: 'unavailable',
      message: 'The database cannot be reached or is overloaded, try again shortly',
      retryable: true,
      retryAfterSeconds: 1,
      cause,
    });
  }
}
