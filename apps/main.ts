import { runProcess } from './launcher/src/run-process.js';

// Every role, `all` without a setting. A process loads the code of its role only: a worker without the API starts in half the time.
// apps/api/src/main.ts and apps/worker/src/main.ts start one role each.
await runProcess({
  /** One application: api and worker share its services and its pools. */
  async all(platform, auth) {
    const { startApi } = await import('./api/src/start-api.js');
    const { WorkerModule } = await import('./worker/src/worker.module.js');
    const { WorkerLifecycle } = await import('./worker/src/worker.lifecycle.js');
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
  api: async (...given) => (await import('./api/src/start-api-role.js')).startApiRole(...given),
  worker: async (...given) => (await import('./worker/src/start-worker-role.js')).startWorkerRole(...given),
  tools: async (...given) => (await import('./worker/src/start-worker-role.js')).startToolsRole(...given),
});
