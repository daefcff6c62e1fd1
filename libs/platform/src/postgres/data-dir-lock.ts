import { createHash } from 'node:crypto';
import { realpath, rm } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { alreadyRunning } from './postgres.errors.js';

/** The data that the holder of the lock reports to a second process. */
export interface DataDirHolder {
  readonly pid: number;
  /** The port of the embedded Postgres; 0 while it starts. */
  port: number;
}

/**
 * The exclusive right of one process to a data directory. The lock is a listening socket, not a file: the kernel releases it when the process
 * ends for any reason, so it is never stale and cannot be confused with another process.
 */
export class DataDirLock {
  private constructor(
    private readonly socket: Server,
    private readonly holder: DataDirHolder,
  ) {}

  /** Throws `already_running`, with the holder's process id and port, if another process has the lock. */
  static async take(dataDir: string): Promise<DataDirLock> {
    const name = await socketName(dataDir);
    const holder: DataDirHolder = { pid: process.pid, port: 0 };
    for (let left = 3; ; left -= 1) {
      const socket = await listen(name, holder);
      if (socket !== undefined) return new DataDirLock(socket, holder);
      const other = await askHolder(name);
      if (other !== undefined || left <= 1) throw alreadyRunning(dataDir, other ?? { pid: 0, port: 0 });
      if (!name.startsWith('\0')) await rm(name, { force: true }); // a process that died left the file
    }
  }

  announce(port: number): void {
    this.holder.port = port;
  }

  release(): Promise<void> {
    return new Promise((resolve) => {
      this.socket.close(() => {
        resolve();
      });
    });
  }
}

/** On Linux, the name is abstract and has no file; elsewhere it is a file in the temporary folder. */
async function socketName(dataDir: string): Promise<string> {
  const id = createHash('sha256')
    .update(await realpath(dataDir))
    .digest('hex')
    .slice(0, 32);
  return process.platform === 'linux' ? `\0nightshift-${id}` : join(tmpdir(), `nightshift-${id}.sock`);
}

function listen(name: string, holder: DataDirHolder): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => {
      socket.on('error', () => socket.destroy());
      socket.end(`${holder.pid} ${holder.port}`);
    });
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(undefined);
      else reject(error);
    });
    server.listen(name, () => {
      server.unref();
      resolve(server);
    });
  });
}

function askHolder(name: string): Promise<DataDirHolder | undefined> {
  return new Promise((resolve) => {
    let answer = '';
    const socket = connect(name);
    socket.setTimeout(2_000, () => socket.destroy());
    socket.on('data', (chunk) => (answer += chunk.toString()));
    socket.on('error', () => undefined);
    socket.on('close', () => {
      const [pid, port] = answer.split(' ').map(Number);
      resolve(pid === undefined || port === undefined ? undefined : { pid, port });
    });
  });
}
