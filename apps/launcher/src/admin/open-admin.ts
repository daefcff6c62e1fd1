import { resolve } from 'node:path';

import {
  AppError,
  canLogIn,
  type Config,
  type DatabaseUrls,
  databaseUrls,
  dataDirSecret,
  embeddedDatabaseUrl,
  EmbeddedPostgres,
  hasDataDirSecret,
  hasEmbeddedData,
  migrate,
  previousDataDirSecrets,
} from '#platform';

import { noEmbeddedData, noInstallation, secretMismatch } from './admin.errors.js';
import { InstallationRepository } from './installation.repository.js';

/** The installation that the settings name, for its operator. */
export interface AdminInstallation {
  readonly urls: DatabaseUrls;
  readonly secret: string;
  readonly previousSecrets: readonly string[];
}

/**
 * Opens the installation with its own credentials: DATABASE_URL and NIGHTSHIFT_SECRET, or a readable data directory. If Nightshift runs,
 * the command shares its embedded Postgres; else the command starts it. Throws `no_installation`, and `secret_mismatch` before it changes
 * anything if the secret is not that of the database.
 */
export async function openAdmin(config: Config, cleanUp: AsyncDisposableStack): Promise<AdminInstallation> {
  const held = await heldSecrets(config);
  const { DATABASE_URL: given } = config.values;
  if (given === undefined && !(await hasEmbeddedData(held.dataDir))) throw noEmbeddedData(held.dataDir);
  const ownerUrl = given ?? (await embeddedUrl(held.dataDir, cleanUp));
  const urls = databaseUrls(ownerUrl, held.secret);
  // Starting with another secret would change the passwords of the serving roles while other processes use them.
  const others = held.previousSecrets.map((secret) => databaseUrls(ownerUrl, secret));
  if (!(await canLogIn(urls.api)) && (await isSetUp(ownerUrl))) {
    const known = (await Promise.all(others.map(({ api }) => canLogIn(api)))).includes(true);
    throw secretMismatch(known);
  }
  await migrate(urls);
  return { urls, secret: held.secret, previousSecrets: held.previousSecrets };
}

/** The secrets of the settings, else those of the data directory. Never creates a secret. */
export async function heldSecrets(config: Config) {
  const { NIGHTSHIFT_SECRET: given, NIGHTSHIFT_PREVIOUS_SECRETS: previous = '', DATA_DIR } = config.values;
  const dataDir = resolve(DATA_DIR);
  if (given === undefined && !(await hasDataDirSecret(dataDir))) throw noInstallation(dataDir);
  const stored = given === undefined ? await previousDataDirSecrets(dataDir) : [];
  const listed = previous.split(',').map((text) => text.trim());
  return {
    dataDir,
    isStored: given === undefined,
    secret: given ?? (await dataDirSecret(dataDir)),
    previousSecrets: [...listed.filter((text) => text !== ''), ...stored],
  };
}

/** The URL of the running server of this directory; otherwise starts Postgres, which `cleanUp` stops. */
export async function embeddedUrl(dataDir: string, cleanUp: AsyncDisposableStack): Promise<string> {
  try {
    const embedded = await EmbeddedPostgres.start({ dataDir });
    cleanUp.defer(() => embedded.stop());
    return embedded.url;
  } catch (error) {
    const port = error instanceof AppError && error.code === 'already_running' ? Number(error.details['port']) : 0;
    if (port === 0) throw error;
    return embeddedDatabaseUrl(dataDir, port);
  }
}

async function isSetUp(ownerUrl: string): Promise<boolean> {
  const installation = await InstallationRepository.connect(ownerUrl);
  try {
    return await installation.isSetUp();
  } finally {
    await installation.close();
  }
}
