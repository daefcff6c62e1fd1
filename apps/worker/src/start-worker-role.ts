import type { Platform } from '#platform';

import type { RunningRole } from '../../launcher/src/running-role.js';
import { startWorker } from './start-worker.js';

/** Starts a worker, with its health endpoints where the configuration says. */
export async function startWorkerRole(platform: Platform): Promise<RunningRole> {
  const { HOST: host, WORKER_PORT: port } = platform.config.values;
  const worker = await startWorker(platform, port === 0 ? null : { host, port });
  return { url: null, healthUrl: worker.healthUrl, close: () => worker.close(), hurry: () => worker.hurry() };
}
