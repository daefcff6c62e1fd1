import { patience, processEnvironment, systemClock } from '#platform';

import { startApi } from './api/src/start-api.js';
import { launch } from './launcher/src/launch.js';
import type { RoleStarters } from './launcher/src/running-role.js';
import { Terminal } from './launcher/src/terminal.js';
import { startWorker } from './worker/src/start-worker.js';
import { WorkerLifecycle } from './worker/src/worker.lifecycle.js';
import { WorkerModule } from './worker/src/worker.module.js';

/** How long a process that has stopped everything may take to end by itself. */
const LINGER_MS = 1_000;

const roles: RoleStarters = {
  async api(platform, auth) {
    const { HOST: host, PORT: port } = platform.config.values;
    const api = await startApi(platform, { host, port, auth });
    return { url: api.url, healthUrl: api.url, close: () => api.close(), hurry: () => Promise.resolve() };
  },

  async worker(platform) {
    const { HOST: host, WORKER_PORT: port } = platform.config.values;
    const worker = await startWorker(platform, port === 0 ? null : { host, port });
    return { url: null, healthUrl: worker.healthUrl, close: () => worker.close(), hurry: () => worker.hurry() };
  },

  /** One application: api and worker share its services and its pools. */
  async all(platform, auth) {
    const { HOST: host, PORT: port } = platform.config.values;
    const api = await startApi(platform, { host, port, auth, modules: [WorkerModule] });
    const worker = api.app.get(WorkerLifecycle);
    return {
      url: api.url,
      healthUrl: api.url,
      close: async () => {
        // Side by side: not ready any more and no further claims at once, then rounds to their commit, then the server.
        await Promise.all([api.close(), worker.drain()]);
      },
      hurry: () => worker.hurry(),
    };
  },
};

const environment = processEnvironment();
const noColor = (environment['NO_COLOR'] ?? '') !== '';
process.exitCode = await launch({
  words: process.argv.slice(2),
  environment,
  roles,
  out: new Terminal(process.stdout, { noColor }),
  errors: new Terminal(process.stderr, { noColor }),
  logsAreWatched: process.stderr.isTTY,
});
// Whatever still holds the process open now is a leak: tests are told its name, and nobody is kept waiting.
patience(systemClock, LINGER_MS, () => {
  const leaks = process.getActiveResourcesInfo().join(', ');
  if (environment['NODE_ENV'] === 'test') process.stderr.write(`Still open after the stop: ${leaks}\n`);
  process.exit();
});
