import type { Platform } from '#platform';

import type { RunningRole } from '../../launcher/src/running-role.js';
import { type RunningWorker, startToolProcess, startWorker } from './start-worker.js';

/** Starts a worker, with its health endpoints at the configured address. */
export async function startWorkerRole(platform: Platform): Promise<RunningRole> {
  return toRole(await startWorker(platform, healthPlace(platform)));
}

/** The same for a tool process, on the platform of one. */
export async function startToolsRole(platform: Platform): Promise<RunningRole> {
  return toRole(await startToolProcess(platform, healthPlace(platform)));
}

function healthPlace({ config }: Platform) {
  const { HOST: host, WORKER_PORT: port } = config.values;
  return port === 0 ? null : { host, port };
}

function toRole(worker: RunningWorker): RunningRole {
  return { url: null, healthUrl: worker.healthUrl, close: () => worker.close(), hurry: () => worker.hurry() };
}
