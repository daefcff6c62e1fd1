import { AppError } from '#platform';

/** The settings name no installation. */
export function noInstallation(dataDir: string): AppError {
  return new AppError({
    code: 'no_installation',
    message:
      `${dataDir} contains no installation, and NIGHTSHIFT_SECRET is not set. Run this in the folder of \`npm start\`, ` +
      'name its data directory with --data-dir, or set DATABASE_URL and NIGHTSHIFT_SECRET to the values that its processes use.',
  });
}

/** The settings name a data directory without a database, for example because of a typing error. */
export function noEmbeddedData(dataDir: string): AppError {
  return new AppError({
    code: 'no_installation',
    message: `${dataDir} contains no database. Name the data directory of the installation with --data-dir, or set DATABASE_URL.`,
  });
}

/** The secret is not that of the database. `isPrevious`: the database still has one of the previous secrets. */
export function secretMismatch(isPrevious: boolean): AppError {
  return new AppError({
    code: isPrevious ? 'secret_not_rotated' : 'secret_mismatch',
    message: isPrevious
      ? 'The database still has the passwords of the previous secret.'
      : 'NIGHTSHIFT_SECRET is not the secret of this database: its logins (`nightshift_api`, `nightshift_engine`, `nightshift_tools`) have other passwords. Use the secret that the processes of the installation run with.',
  });
}

/** The passwords of the serving roles cannot change while processes use them. */
export function installationRunning(connections: number): AppError {
  return new AppError({
    code: 'installation_running',
    message: `Nightshift is running on this database (${connections} connections). Stop all its processes, rotate, and start them with the new secret.`,
  });
}

/** The operator must replace a secret that comes from the environment. */
export function newSecretNeeded(): AppError {
  return new AppError({
    code: 'new_secret_needed',
    message:
      'NIGHTSHIFT_SECRET comes from the environment. Set NIGHTSHIFT_SECRET to a new value (openssl rand -base64 48) and ' +
      'NIGHTSHIFT_PREVIOUS_SECRETS to the old one, and run this again.',
  });
}
