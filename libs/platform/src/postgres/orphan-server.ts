import { readFile, readlink, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import { orphanStays } from './postgres.errors.js';

const STOP_WITHIN_MS = 20_000;

/**
 * Ends the server that a killed Nightshift left behind in `dataDir`. Only the holder of the directory's lock may call
 * this: then no Nightshift uses the server, and stopping it is safer than adopting a process with unknown settings. A process counts
 * as that server only when its working directory is this one. A leftover pid file that names another process is removed, because
 * Postgres itself would take any living process with that number for its predecessor.
 */
export async function stopOrphan(dataDir: string): Promise<void> {
  const file = join(dataDir, 'postmaster.pid');
  const pid = await pidIn(file);
  if (pid === undefined) return;
  if (!(await worksIn(pid, dataDir))) {
    await rm(file, { force: true });
    return;
  }
  // Fast shutdown first; the immediate one loses nothing either, it only makes the next start replay the log.
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

/** A postmaster changes into its data directory. Where there is no /proc, a living process of that number is believed. */
async function worksIn(pid: number, dataDir: string): Promise<boolean> {
  try {
    if (process.platform === 'linux') return (await readlink(`/proc/${pid}/cwd`)) === (await realpath(dataDir));
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
