import { toolSecrets } from '#integrations';
import { jobKeys, providerKeys } from '#models';
import {
  canLogIn,
  type Config,
  databaseUrls,
  EmbeddedPostgres,
  migrate,
  type Resealed,
  rootBox,
  rotateDataDirSecret,
  toolBox,
  toolsKeyOf,
} from '#platform';
import { channelSecrets, endpointSecrets } from '#triggers';

import { installationRunning, newSecretNeeded } from './admin.errors.js';
import { InstallationRepository } from './installation.repository.js';
import { heldSecrets, openAdmin } from './open-admin.js';

/** All columns with encrypted values. */
export const sealedColumns = {
  root: [providerKeys, jobKeys, ...endpointSecrets, ...channelSecrets],
  tools: [toolSecrets],
} as const;

/** The settings of a process with role tools. */
export interface ToolsAccess {
  readonly NIGHTSHIFT_TOOLS_KEY: string;
  /** Without a password: the process derives it from the key. */
  readonly DATABASE_URL: string;
}

/**
 * The key of tool processes, and the database URL with their login. Migrates the database, so that the login exists, and encrypts again the
 * secrets of tools that were encrypted with the installation's secret itself. Throws as `openAdmin`.
 */
export async function toolsAccess(config: Config, cleanUp: AsyncDisposableStack): Promise<ToolsAccess> {
  const { urls, secret, previousSecrets: previous } = await openAdmin(config, cleanUp);
  const installation = await InstallationRepository.connect(urls.owner);
  cleanUp.defer(() => installation.close());
  const box = toolBox({ kind: 'root', secret, previous });
  await installation.reseal(sealedColumns.tools.map((column) => [column, box] as const));
  const url = new URL(urls.tools);
  url.password = '';
  return { NIGHTSHIFT_TOOLS_KEY: toolsKeyOf(secret), DATABASE_URL: url.toString() };
}

/**
 * Replaces the installation's secret. A data directory gets a new secret; otherwise the operator sets a new NIGHTSHIFT_SECRET beside the
 * previous ones. Gives the serving roles new passwords and encrypts all stored secrets again. May be repeated after a failure. Throws
 * `new_secret_needed`, `installation_running`, `already_running`.
 */
export async function rotateSecret(config: Config, cleanUp: AsyncDisposableStack): Promise<Resealed[]> {
  const { isStored, dataDir, ...before } = await heldSecrets(config);
  if (!isStored && before.previousSecrets.length === 0) throw newSecretNeeded();
  const ownerUrl = config.values.DATABASE_URL ?? (await ownEmbedded(dataDir, cleanUp));
  const installation = await InstallationRepository.connect(ownerUrl);
  cleanUp.defer(() => installation.close());
  // Processes with the new secret may run already. Processes with another secret would lose their access to the database.
  const mayRun = !isStored && (await canLogIn(databaseUrls(ownerUrl, before.secret).api));
  const connections = await installation.servingConnections();
  if (!mayRun && connections > 0) throw installationRunning(connections);
  if (isStored) await rotateDataDirSecret(dataDir);
  const { secret, previousSecrets: previous } = isStored ? await heldSecrets(config) : before;
  await migrate(databaseUrls(ownerUrl, secret));
  const held = { kind: 'root', secret, previous } as const;
  const [root, tools] = [rootBox(held), toolBox(held)];
  return installation.reseal([
    ...sealedColumns.root.map((column) => [column, root] as const),
    ...sealedColumns.tools.map((column) => [column, tools] as const),
  ]);
}

async function ownEmbedded(dataDir: string, cleanUp: AsyncDisposableStack): Promise<string> {
  const embedded = await EmbeddedPostgres.start({ dataDir });
  cleanUp.defer(() => embedded.stop());
  return embedded.url;
}
