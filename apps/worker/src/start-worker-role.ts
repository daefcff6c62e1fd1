import { type DynamicModule, type INestApplicationContext, Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

import { type Platform, PlatformModule } from '#platform';
import { PluginRegistry, type ShownPlugin } from '#tools';

import type { RunningRole } from '../../launcher/src/running-role.js';
import { DatabaseCheckRepository } from './database-check.repository.js';
import { HealthServer } from './health-server.js';
import { ToolProcessLifecycle } from './tool-process.lifecycle.js';
import { ToolProcessModule } from './tool-process.module.js';
import { WorkerLifecycle } from './worker.lifecycle.js';
import { WorkerModule } from './worker.module.js';

/** A worker process at work. */
interface RunningWorker {
  /** Base of /healthz, /readyz and /metrics; null without them. */
  readonly healthUrl: string | null;
  /** Drains within WORKER_DRAIN_MS and frees everything but the platform. */
  close(): Promise<void>;
  /** Ends the waiting of a `close` that is under way. */
  hurry(): Promise<void>;
}

/** Where the health server listens. Null: nowhere. Port 0: any free one. */
type HealthPlace = { readonly host: string; readonly port: number } | null;

/** What a process runs, and what starts and drains it. */
interface Work {
  readonly module: Type;
  readonly lifecycle: Type<Lifecycle>;
}

type Lifecycle = Pick<WorkerLifecycle, 'isDraining' | 'hurry'>;

@Module({})
class WorkerRoot {
  static with(platform: Platform, module: Type): DynamicModule {
    return { module: WorkerRoot, imports: [PlatformModule.with(platform), module] };
  }
}

/** Runs jobs until closed. The platform stays the caller's. Rejects when a module cannot start or the port is taken. */
function startWorker(platform: Platform, health: HealthPlace): Promise<RunningWorker> {
  return startWork(platform, { module: WorkerModule, lifecycle: WorkerLifecycle }, health);
}

/** The same for calls of isolated tools alone, on a platform of `openToolPlatform`. */
function startToolProcess(platform: Platform, health: HealthPlace): Promise<RunningWorker> {
  return startWork(platform, { module: ToolProcessModule, lifecycle: ToolProcessLifecycle }, health);
}

async function startWork(platform: Platform, work: Work, health: HealthPlace): Promise<RunningWorker> {
  const app = await NestFactory.createApplicationContext(WorkerRoot.with(platform, work.module), {
    abortOnError: false,
    logger: false,
  });
  const lifecycle = app.get(work.lifecycle);
  const plugins = app.get(PluginRegistry, { strict: false });
  const source = { isDraining: () => lifecycle.isDraining, plugins: () => plugins.shown() };
  const server = await openHealth(platform, source, health).catch(async (error: unknown) => {
    await closeNow(app, lifecycle);
    throw error;
  });
  return {
    healthUrl: server?.url ?? null,
    close: async () => {
      await app.close();
      await server?.close();
    },
    hurry: () => lifecycle.hurry(),
  };
}

/** The status that a process reports about itself. */
interface ProcessState {
  readonly isDraining: () => boolean;
  readonly plugins: () => readonly ShownPlugin[];
}

async function openHealth(platform: Platform, state: ProcessState, place: HealthPlace) {
  if (place === null) return undefined;
  const database = new DatabaseCheckRepository(platform.prisma);
  const source = {
    isReady: async () => !state.isDraining() && (await database.answers()),
    plugins: state.plugins,
    metrics: () => platform.metrics.registry.metrics(),
  };
  return HealthServer.listen(source, place.host, place.port);
}

async function closeNow(app: INestApplicationContext, lifecycle: Lifecycle): Promise<void> {
  await lifecycle.hurry();
  await app.close();
}

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
