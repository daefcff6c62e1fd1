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
} from '#platform';
import { channelSecrets, endpointSecrets } from '#triggers';

import { installationRunning, newSecretNeeded } from './admin.errors.js';
import { InstallationRepository } from './installation.repository.js';
import { heldSecrets } from './open-admin.js';

/** Every column of sealed values there is. */
export const sealedColumns = {
  root: [providerKeys, jobKeys, ...endpointSecrets, ...channelSecrets],
  tools: [toolSecrets],
} as const;

/**
 * Replaces the installation's secret: of a data directory by a new one, else by the NIGHTSHIFT_SECRET that the operator has set beside
 * the previous ones. Gives the serving roles new passwords and seals all stored secrets again. May be repeated after a failure.
 * Throws `new_secret_needed`, `installation_running`, `already_running`.
 */
export async function rotateSecret(config: Config, cleanUp: AsyncDisposableStack): Promise<Resealed[]> {
  const { isStored, dataDir, ...before } = await heldSecrets(config);
  if (!isStored && before.previousSecrets.length === 0) throw newSecretNeeded();
  const ownerUrl = config.values.DATABASE_URL ?? (await ownEmbedded(dataDir, cleanUp));
  const installation = await InstallationRepository.connect(ownerUrl);
  cleanUp.defer(() => installation.close());
  // Processes with the new secret may run already; those with another one would lose their database under the feet.
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
