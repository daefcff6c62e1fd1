import { chmod, lstat, mkdir, mkdtemp, readFile, readlink, realpath, rm, stat, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import { withAdminClient } from './admin-client.js';
import { DataDirLock } from './data-dir-lock.js';
import { embeddedPassword } from './data-secret.js';
import { withDatabase } from './database-urls.js';
import { dataDirOfOtherVersion, embeddedUnavailable, orphanStays } from './postgres.errors.js';
import { postgresHome, type ServerUser, serverUser } from './postgres-binaries.js';
import { initializeCluster, type PostgresCluster, type PostgresServer, startServer } from './postgres-server.js';
import type { ServerVersion } from './server-version.js';

const STOP_WITHIN_MS = 20_000;

/**
 * Ends the server that a killed process left in `dataDir`. Only the holder of the directory's lock may call this: then no other process uses
 * the server, and stopping it is safer than using a server with unknown settings. A process counts as that server only if its working
 * directory is this one. A stale pid file that names another process is removed, because Postgres would take any running process with that id
 * for its predecessor.
 */
export async function stopOrphan(dataDir: string): Promise<void> {
  const file = join(dataDir, 'postmaster.pid');
  const pid = await pidIn(file);
  if (pid === undefined) return;
  if (!(await worksIn(pid, dataDir))) {
    await rm(file, { force: true });
    return;
  }
  // Fast shutdown first. An immediate shutdown loses nothing either, but the next start must replay the log.
  for (const signal of ['SIGINT', 'SIGQUIT', 'SIGKILL'] as const) {
    process.kill(pid, signal);
    for (let waited = 0; waited < STOP_WITHIN_MS / 3; waited += 50) {
      if (!(await worksIn(pid, dataDir))) return;
      await pause(50);
    }
  }
  throw orphanStays(dataDir, pid);
}

async function pidIn(file: string): Promise<number | undefined> {
  try {
    const pid = Number.parseInt((await readFile(file, 'utf8')).split('\n')[0] ?? '', 10);
    return pid > 1 ? pid : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Whether the process is a postmaster of this data directory: a postmaster changes into it. Without /proc, any running process with this id
 * counts.
 */
async function worksIn(pid: number, dataDir: string): Promise<boolean> {
  try {
    if (process.platform === 'linux') return (await readlink(`/proc/${pid}/cwd`)) === (await realpath(dataDir));
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** The version of the server binaries. */
export const EMBEDDED_VERSION: ServerVersion = { major: 18, text: '18' };

const MAJOR = EMBEDDED_VERSION.text;
const DATABASE = 'nightshift';

/**
 * The Postgres that is included: real server binaries, data in `<dataDir>/postgres`, loopback only, a random password. For `npm start`; an
 * installation that must scale or be backed up sets DATABASE_URL instead.
 */
export class EmbeddedPostgres {
  private stopping: Promise<void> | undefined;

  private constructor(
    private readonly lock: DataDirLock,
    private readonly server: PostgresServer,
    /** The URL of the superuser and the database `nightshift`, in the format of DATABASE_URL. */
    readonly url: string,
    /** The folder of the cluster. It differs from the requested one only if the server's user cannot reach that one. */
    readonly dataDir: string,
  ) {}

  /**
   * Starts on a new or an existing `dataDir`, also after a crash or if the server of a killed process still runs. Throws `already_running` if
   * another process uses the directory, `data_dir_version` if another major version wrote it, and `embedded_postgres_unavailable` if the
   * binaries cannot run here.
   */
  static async start(options: { readonly dataDir: string }): Promise<EmbeddedPostgres> {
    await mkdir(options.dataDir, { recursive: true });
    const lock = await DataDirLock.take(options.dataDir);
    try {
      const user = serverUser();
      const place = await reachablePlace(join(options.dataDir, 'postgres'), user);
      const cluster = { home: await postgresHome(user), user, dataDir: place };
      const password = await embeddedPassword(options.dataDir);
      const server = await startCluster(cluster, password);
      lock.announce(server.port);
      const url = urlAt(server.port, password);
      await ensureDatabase(withDatabase(url, 'postgres')).catch(async (error: unknown) => {
        await server.stop();
        throw error;
      });
      return new EmbeddedPostgres(lock, server, url, place);
    } catch (error) {
      await lock.release();
      throw error;
    }
  }

  get port(): number {
    return this.server.port;
  }

  /** Runs `listener` once, with the end of the server's log, if the server exits without a call of `stop`. */
  onUnexpectedExit(listener: (log: string) => void): void {
    void this.server.exited.then((log) => {
      if (this.stopping === undefined) listener(log);
    });
  }

  /** Fast shutdown: open transactions are rolled back, and committed ones are on disk. Idempotent. */
  stop(): Promise<void> {
    this.stopping ??= this.server.stop().then(() => this.lock.release());
    return this.stopping;
  }
}

/** The URL of the superuser of the embedded Postgres that another process runs on `dataDir`, at its announced port. */
export async function embeddedDatabaseUrl(dataDir: string, port: number): Promise<string> {
  return urlAt(port, await embeddedPassword(dataDir));
}

function urlAt(port: number, password: string): string {
  return `postgres://postgres:${password}@127.0.0.1:${port}/${DATABASE}`;
}

async function startCluster(cluster: PostgresCluster, password: string): Promise<PostgresServer> {
  const version = await readFile(join(cluster.dataDir, 'PG_VERSION'), 'utf8').catch(() => undefined);
  if (version === undefined) await initializeCluster(cluster, password);
  else if (version.trim() !== MAJOR) throw dataDirOfOtherVersion(cluster.dataDir, version.trim(), MAJOR);
  await stopOrphan(cluster.dataDir);
  return startServer(cluster, ['max_connections=200']);
}

async function ensureDatabase(url: string): Promise<void> {
  await withAdminClient({ url }, async (admin) => {
    const found = await admin.query('SELECT 1 FROM pg_database WHERE datname = $1', [DATABASE]);
    if (found.rowCount === 0) await admin.query(`CREATE DATABASE ${DATABASE}`);
  }).catch((cause: unknown) => {
    throw embeddedUnavailable('its password file does not match its data', cause);
  });
}

/**
 * Returns `wanted`. If the server's user cannot reach it (a checkout below /root), returns a new reachable folder, with a link to it at
 * `wanted`. Without the link, a new cluster is created.
 */
async function reachablePlace(wanted: string, user: ServerUser): Promise<string> {
  const parent = await realpath(dirname(wanted));
  const link = await readlink(wanted).catch(() => undefined);
  if (link !== undefined) return link;
  const place = join(parent, 'postgres');
  if (user.uid === undefined || (await isThere(place)) || (await isOpen(parent))) return place;
  const open = join(await openFolder(), 'postgres');
  await symlink(open, wanted);
  return open;
}

async function openFolder(): Promise<string> {
  const root = '/var/lib/nightshift';
  await mkdir(root, { recursive: true });
  const place = await mkdtemp(join(root, 'data-'));
  for (const folder of [root, place]) await chmod(folder, 0o755); // the umask may have removed these bits
  return place;
}

async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

/** Whether every user may traverse all parents of a folder. */
async function isOpen(folder: string): Promise<boolean> {
  const { mode } = await stat(folder);
  if ((mode & 0o001) === 0) return false;
  return folder === dirname(folder) || isOpen(dirname(folder));
}
