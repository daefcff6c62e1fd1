import { rmSync } from 'node:fs';
import { chmod, mkdtemp, readdir, rm, statfs } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { stopOrphan } from '../../libs/platform/src/postgres/embedded-postgres.js';
import { postgresHome, serverUser } from '../../libs/platform/src/postgres/postgres-binaries.js';
import {
  initializeCluster,
  type PostgresServer,
  startServer,
} from '../../libs/platform/src/postgres/postgres-server.js';

/** Speed before durability: the cluster lives as long as the run. */
const SETTINGS = [
  'fsync=off',
  'synchronous_commit=off',
  'full_page_writes=off',
  'max_connections=300',
  'shared_buffers=128MB',
  'max_wal_size=256MB',
];

const TMPFS = '/dev/shm';
/** The cluster uses some 5 % of it; the processes of the run need the rest. */
const MIN_FREE_MEMORY_BYTES = 8 * 2 ** 30;

/** Followed by the process id of the run. */
const PREFIX = 'nightshift-test-';

interface RunningCluster {
  readonly server: PostgresServer;
  readonly folder: string;
}

/**
 * The one Postgres of a test run, in Jest's main process, which outlives the workers. A worker connects to the address,
 * sends its token and reads the server's url; the first request starts it, so a run of pure specs pays nothing.
 */
export class PostgresHost {
  private running: Promise<RunningCluster> | undefined;
  private child: PostgresServer | undefined;
  private folder: string | undefined;

  private constructor(
    private readonly listener: Server,
    private readonly token: string,
  ) {}

  static async listen(token: string): Promise<PostgresHost> {
    const listener = createServer();
    const host = new PostgresHost(listener, token);
    listener.on('connection', (socket) => {
      socket.on('error', () => socket.destroy());
      socket.once('data', (line) => {
        if (line.toString() !== `${token}\n`) socket.destroy();
        else
          void host.url().then(
            (url) => socket.end(url),
            (error: unknown) => socket.end(`error: ${String(error)}`),
          );
      });
    });
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    listener.unref();
    process.once('exit', () => {
      host.kill();
    });
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.once(signal, () => {
        host.kill();
        process.kill(process.pid, signal); // as without this listener
      });
    }
    return host;
  }

  get address(): string {
    const address = this.listener.address();
    return `${typeof address === 'object' && address !== null ? address.port : 0}:${this.token}`;
  }

  async close(): Promise<void> {
    this.listener.close();
    if (this.running === undefined) return;
    const { server, folder } = await this.running;
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }

  /** The last resort of a run that dies: the server must not stay behind. */
  private kill(): void {
    if (this.child !== undefined) {
      try {
        process.kill(this.child.pid, 'SIGQUIT');
        if (this.folder !== undefined) rmSync(this.folder, { recursive: true, force: true, maxRetries: 3 });
      } catch {
        // already gone, or the next run deletes the rest
      }
    }
  }

  private async url(): Promise<string> {
    this.running ??= this.start();
    const { server } = await this.running;
    return `postgres://postgres@127.0.0.1:${server.port}/postgres`;
  }

  private async start(): Promise<RunningCluster> {
    await clearDeadRuns();
    const user = serverUser();
    const name = `${PREFIX}${process.pid}-`;
    const folder = await mkdtemp(join(await clusterParent(), name)).catch(() => mkdtemp(join(tmpdir(), name))); // may be read-only
    this.folder = folder;
    await chmod(folder, 0o755);
    const cluster = { home: await postgresHome(user), user, dataDir: join(folder, 'data') };
    await initializeCluster(cluster);
    this.child = await startServer(cluster, SETTINGS);
    return { server: this.child, folder };
  }
}

/**
 * The folder for the cluster: in memory if enough is free. On a busy machine, Postgres creates a database (over 700 files) there in a fifth of
 * the time that it takes on disk.
 */
async function clusterParent(): Promise<string> {
  const { bavail, bsize } = await statfs(TMPFS).catch(() => ({ bavail: 0, bsize: 0 })); // exists only on Linux
  return Math.min(bavail * bsize, process.availableMemory()) >= MIN_FREE_MEMORY_BYTES ? TMPFS : tmpdir();
}

/** A run that was killed outright could not stop its server; the next one does. */
async function clearDeadRuns(): Promise<void> {
  for (const parent of [TMPFS, tmpdir()]) {
    for (const name of await readdir(parent).catch(() => [])) {
      const pid = Number(new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1]);
      if (Number.isNaN(pid) || isAlive(pid)) continue;
      const folder = join(parent, name);
      await stopOrphan(join(folder, 'data')).catch(() => undefined); // another run may be stopping it
      await rm(folder, { recursive: true, force: true }).catch(() => undefined); // another user's
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return typeof error === 'object' && error !== null && 'code' in error && error.code === 'EPERM';
  }
}
