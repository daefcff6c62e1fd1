import type { Auth } from '#auth';
import type { Platform } from '#platform';

import type { RunningRole } from '../../launcher/src/running-role.js';
import { startApi } from './start-api.js';

/** Starts the API at the configured address. */
export async function startApiRole(platform: Platform, auth: Auth): Promise<RunningRole> {
  const { HOST: host, PORT: port } = platform.config.values;
  const api = await startApi(platform, { host, port, auth });
  return { url: api.url, healthUrl: api.url, close: () => api.close(), hurry: () => Promise.resolve() };
}
