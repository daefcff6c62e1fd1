import { startApi } from './api/src/start-api.js';
import { startApiRole } from './api/src/start-api-role.js';
import { runProcess } from './launcher/src/run-process.js';
import { startToolsRole, startWorkerRole } from './worker/src/start-worker-role.js';
import { WorkerLifecycle } from './worker/src/worker.lifecycle.js';
import { WorkerModule } from './worker/src/worker.module.js';

// Every role, `all` without a setting. apps/api/src/main.ts and apps/worker/src/main.ts start one role and load nothing of the others.
await runProcess({
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
  api: startApiRole,
  worker: startWorkerRole,
  tools: startToolsRole,
});
