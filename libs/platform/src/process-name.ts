import { createHash, randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

const pattern = /^(?<host>.+):(?<pid>\d+):(?<place>[\w-]{12})\.(?<startedAt>\d+)(?:#.*)?$/;

/**
 * The name of a process in the rows that it owns: `host:pid:mark`. On Linux, the mark identifies the pid namespace and the start tick of the
 * process, so that no later process can have the same name; elsewhere it is random.
 */
export function processName(pid = process.pid): string {
  const here = place();
  const started = here === undefined ? undefined : startedAt(pid);
  const mark = here === undefined || started === undefined ? randomUUID().slice(0, 8) : `${here}.${started}`;
  return `${hostname()}:${pid}:${mark}`;
}

/**
 * Whether the process with this name has certainly ended. False: it runs, or this process cannot know, because it ran on another machine or
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

/**
 * Whether the pid is in use. Signal 0 only checks existence. `hidepid` hides processes in /proc but not from this check; EPERM means a
 * process of another user.
 */
function isTaken(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'; // Node throws this type for a system call
  }
}

/** The start of a process in ticks since boot. A zombie process has ended and has no start. */
function startedAt(pid: number): string | undefined {
  // The second field is the program's name in parentheses and may contain any character.
  const [state, ...fields] =
    read(`/proc/${pid}/stat`)
      ?.replace(/^.*\) /s, '')
      .split(' ') ?? [];
  if (state === 'Z') return '';
  return fields[18];
}

/**
 * The scope in which process ids and start ticks are unique: one boot of one kernel, with one pid and one time namespace. A recreated
 * container and every other machine have other scopes.
 */
function place(): string | undefined {
  const boot = read('/proc/sys/kernel/random/boot_id');
  const pids = follow('/proc/self/ns/pid');
  // Without this equality, /proc shows the processes of another namespace.
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
