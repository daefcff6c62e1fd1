import { AppError } from '#platform';

/** A role that shares a database with other processes cannot start an embedded one. */
export function databaseNeeded(role: string): AppError {
  return new AppError({
    code: 'database_needed',
    message:
      `Role ${role} works with other processes on one Postgres: set DATABASE_URL. ` +
      'To run everything in one process with the included Postgres, omit --role.',
  });
}

/** All processes of an installation need the same secret, so a role cannot create its own. */
export function secretNeeded(role: string): AppError {
  return new AppError({
    code: 'secret_needed',
    message:
      `Role ${role} needs NIGHTSHIFT_SECRET, the same one in all processes of this installation: API keys, stored provider ` +
      'keys and database passwords depend on it. Make one with: openssl rand -base64 48',
  });
}

/** Another process listens on this port. `remedy`: the flag or setting that chooses another one. */
export function portTaken(
  { host, port, remedy }: { readonly host: string; readonly port: number; readonly remedy: string },
  cause: unknown,
): AppError {
  return new AppError({
    code: 'port_taken',
    message: `Port ${port} on ${host} is in use by another process. Choose another port with ${remedy}, or stop that process.`,
    details: { host, port },
    cause,
  });
}

/** The Postgres of DATABASE_URL rejects the login or does not respond. `place` contains no login. */
export function databaseUnusable(place: string, cause: unknown): AppError {
  const text = cause instanceof Error && cause.message !== '' ? cause.message : String(cause);
  return new AppError({
    code: 'database_unusable',
    message: `The ${place} (DATABASE_URL) cannot be used: ${text}.`,
    cause,
  });
}

/** A tool process needs its own key. */
export function toolsKeyNeeded(): AppError {
  return new AppError({
    code: 'tools_key_needed',
    message:
      'Role tools needs NIGHTSHIFT_TOOLS_KEY: run `npx nightshift admin tools-key` where NIGHTSHIFT_SECRET is set, and copy what it prints.',
  });
}

/** A setting that a tool process must not have, or cannot use. */
export function toolsSettingRefused(problem: string): AppError {
  return new AppError({ code: 'tools_setting_refused', message: problem });
}

/** The database does not accept the login of tool processes, or was not migrated by this version. */
export function toolsLoginRefused(place: string, problem: string, cause?: unknown): AppError {
  return new AppError({
    code: 'tools_login_refused',
    message: `The ${place} (DATABASE_URL) cannot be used by a tool process: ${problem}`,
    cause,
  });
}
