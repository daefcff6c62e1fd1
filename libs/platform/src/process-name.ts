import { createHash, randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

const pattern = /^(?<host>.+):(?<pid>\d+):(?<place>[\w-]{12})\.(?<startedAt>\d+)(?:#.*)?$/;

/**
 * What a process is called on the rows it holds: `host:pid:mark`. On Linux the mark names the place in which its number means
 * something, and the tick it was started at, so that no later process can have the same name; elsewhere it is random.
 */
export function processName(pid = process.pid): string {
  const here = place();
  const started = here === undefined ? undefined : startedAt(pid);
  const mark = here === undefined || started === undefined ? randomUUID().slice(0, 8) : `${here}.${started}`;
  return `${hostname()}:${pid}:${mark}`;
}

/**
 * Whether the process of that name has certainly ended. False: it lives, or this process cannot know, because it ran on another machine or
 * in another namespace, the system gives no start times, or it hides other processes.
 */
export function hasEnded(name: string): boolean {
  const named = pattern.exec(name)?.groups;
  if (named === undefined || named['host'] !== hostname() || named['place'] !== place()) return false;
  const pid = Number(named['pid']);
  if (!isTaken(pid)) return true;
  const now = startedAt(pid);
  return now !== undefined && now !== named['startedAt'];
}

/** Signal 0 only checks existence. `hidepid` hides processes from /proc, but not from this; EPERM: another user's process. */
function isTaken(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'; // what Node throws for a system call
  }
}

/** In ticks since the boot; a process that has ended and was not collected by its parent has no start any more. */
function startedAt(pid: number): string | undefined {
  // The second field is the program's name in brackets and may hold anything.
  const [state, ...fields] =
    read(`/proc/${pid}/stat`)
      ?.replace(/^.*\) /s, '')
      .split(' ') ?? [];
  if (state === 'Z') return '';
  return fields[18];
}

/**
 * Where process ids and start ticks mean the same: one boot of one kernel, one namespace of each. A recreated container is
 * another place, and so is every other machine.
 */
function place(): string | undefined {
  const boot = read('/proc/sys/kernel/random/boot_id');
  const pids = follow('/proc/self/ns/pid');
  // Otherwise this /proc shows the processes of another namespace.
  if (boot === undefined || pids === undefined || follow('/proc/self') !== String(process.pid)) return undefined;
  const time = follow('/proc/self/ns/time') ?? '';
  return createHash('sha256').update(`${boot} ${pids} ${time}`).digest('base64url').slice(0, 12);
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

function follow(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
