import { type Config, toolBox, toolsKeyOf } from '#platform';

import { InstallationRepository } from './installation.repository.js';
import { openAdmin } from './open-admin.js';
import { sealedColumns } from './rotate-secret.js';

/** The settings of a process with role tools. */
export interface ToolsAccess {
  readonly NIGHTSHIFT_TOOLS_KEY: string;
  /** Without a password: the process derives it from the key. */
  readonly DATABASE_URL: string;
}

/**
 * The key of tool processes, and the database as they log in to it. Migrates the database, so that their login exists, and seals
 * again the secrets of tools that were sealed with the installation's secret itself. Throws as `openAdmin` does.
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
