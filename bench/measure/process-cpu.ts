import { readdirSync, readFileSync } from 'node:fs';

const TICK_MS = 10; // USER_HZ is 100 on every Linux that Node runs on

/** CPU time of a process so far, ms: the sum of the scheduler's figures of its threads. 0 for a process that has ended. */
export function cpuOf(pid: number): number {
  return threadsOf(pid).reduce((sum, task) => sum + schedulerMs(`/proc/${pid}/task/${task}/schedstat`), 0);
}

/** CPU time of a server and of its children, those that have ended included, ms. */
export function cpuOfFamily(pid: number): number {
  const alive = childrenOf(pid).reduce((sum, child) => sum + cpuOf(child), 0);
  const [user = 0, system = 0] = statOf(pid).slice(13, 15); // cutime, cstime
  return cpuOf(pid) + alive + (user + system) * TICK_MS;
}

/** Memory that is really there, in MB. */
export function rssOf(pid: number): number {
  const found = /^VmRSS:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/status`));
  return Number(found?.[1] ?? 0) / 1_024;
}

function childrenOf(pid: number): number[] {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return all.map(Number).filter((child) => statOf(child)[1] === pid);
}

/** The numbers of /proc/<pid>/stat after the name: index 1 is the parent; 13 and 14 are the ended children's time. */
function statOf(pid: number): number[] {
  const text = read(`/proc/${pid}/stat`);
  return text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
}

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

function schedulerMs(path: string): number {
  return Number(read(path).split(' ')[0] ?? 0) / 1e6;
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // it has just ended
  }
}
