import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import { type DynamicModule, type INestApplicationContext, Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

import { type Platform, PlatformModule } from '#platform';
import { PluginRegistry, type ShownPlugin } from '#tools';

import type { RunningRole } from '../../launcher/src/running-role.js';
import { DatabaseCheckRepository } from './database-check.repository.js';
import { ToolProcessLifecycle } from './tool-process.lifecycle.js';
import { ToolProcessModule } from './tool-process.module.js';
import { WorkerLifecycle } from './worker.lifecycle.js';
import { WorkerModule } from './worker.module.js';

/** The state that the health server reports. */
interface HealthSource {
  /** Whether this process accepts jobs and its database responds. */
  isReady(): Promise<boolean>;
  /** The plugins of this process, for `/readyz`. */
  plugins(): readonly object[];
  /** Prometheus text format 0.0.4. */
  metrics(): Promise<string>;
}

/** Serves `/healthz`, `/readyz` and `/metrics` of a process that has no other endpoint. */
export class HealthServer {
  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  /** Port 0 takes a free port. Rejects if the port is in use. */
  static async listen(source: HealthSource, host: string, port: number): Promise<HealthServer> {
    const server = createServer((request, response) => {
      answer(source, request.url ?? '/', response).catch(() => {
        response.writeHead(500).end();
      });
    });
    server.headersTimeout = 5_000;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, host, resolve);
    });
    const bound = server.address() as AddressInfo; // the server listens on TCP, so this is an address
    return new HealthServer(server, `http://${host.includes(':') ? `[${host}]` : host}:${bound.port}`);
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.server.close(() => {
        resolve();
      });
      this.server.closeAllConnections();
    });
  }
}

async function answer(source: HealthSource, url: string, response: ServerResponse): Promise<void> {
  const [path] = url.split('?');
  response.setHeader('Cache-Control', 'no-store');
  if (path === '/healthz') send(response, 200, { status: 'ok' });
  else if (path === '/readyz') {
    const ready = await source.isReady();
    send(response, ready ? 200 : 503, { status: ready ? 'ready' : 'not_ready', plugins: source.plugins() });
  } else if (path === '/metrics') {
    response.setHeader('Content-Type', 'text/plain; version=0.0.4; charset=utf-8');
    response.end(await source.metrics());
  } else send(response, 404, { error: 'Not found', code: 'not_found' });
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8' }).end(JSON.stringify(body));
}

/** A running worker process. */
interface RunningWorker {
  /** Base URL of /healthz, /readyz and /metrics; null without them. */
  readonly healthUrl: string | null;
  /** Drains within WORKER_DRAIN_MS and frees everything but the platform. */
  close(): Promise<void>;
  /** Makes a running `close` stop at once. */
  hurry(): Promise<void>;
}

/** The address of the health server. Null: none. Port 0: any free port. */
type HealthPlace = { readonly host: string; readonly port: number } | null;

/** The module that a process runs, and the class that starts and drains it. */
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

/** Runs jobs until closed. The caller closes the platform. Rejects if a module cannot start or the port is in use. */
function startWorker(platform: Platform, health: HealthPlace): Promise<RunningWorker> {
  return startWork(platform, { module: WorkerModule, lifecycle: WorkerLifecycle }, health);
}

/** The same as `startWorker` for calls of isolated tools only, on a platform of `openToolPlatform`. */
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
    metrics: () => platform.metrics.text(),
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

/** The same as `startWorkerRole` for a tool process, with its reduced platform. */
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
