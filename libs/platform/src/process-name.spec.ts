import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';

import { afterEach, describe, expect, it } from '@jest/globals';

import { eventually } from '../../../test/harness/eventually.js';
import { hasEnded, processName } from './process-name.js';

/** On other systems no process counts as ended. */
const onLinux = process.platform === 'linux' ? describe : describe.skip;

onLinux('the name of a process', () => {
  const children: ChildProcess[] = [];

  const run = async (command: string, ...words: string[]) => {
    const child = spawn(command, words, { stdio: 'ignore' });
    children.push(child);
    await once(child, 'spawn');
    return { child, name: processName(child.pid) };
  };
  const end = async (child: ChildProcess) => {
    const exited = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined;
    child.kill('SIGKILL');
    await exited;
  };

  afterEach(async () => {
    for (const child of children.splice(0)) await end(child);
  });

  it('hasEnded returns false for the name of this process, which does not change', () => {
    expect(processName()).toBe(processName());
    expect(processName()).toContain(`:${process.pid}:`);
    expect(hasEnded(processName())).toBe(false);
  });

  it('hasEnded returns true once the process was killed', async () => {
    const { child, name } = await run('sleep', '1000');
    expect(hasEnded(name)).toBe(false);
    await end(child);
    expect(hasEnded(name)).toBe(true);
  });

  it('hasEnded returns false for a suspended process', async () => {
    const { child, name } = await run('sleep', '1000');
    child.kill('SIGSTOP');
    expect(hasEnded(name)).toBe(false);
  });

  it('hasEnded returns true when another process has the same process id', async () => {
    const { name } = await run('sleep', '1000');
    expect(hasEnded(name.replace(/\d+$/, (ticks) => String(Number(ticks) - 1)))).toBe(true);
  });

  it('hasEnded returns true for a zombie process', async () => {
    // The shell becomes a program that reaps no children.
    const { child } = await run('sh', '-c', 'sleep 1000 & exec sleep 1000');
    const below = await eventually('the shell has a child', () => {
      const pids = readFileSync(`/proc/${child.pid ?? 0}/task/${child.pid ?? 0}/children`, 'utf8').trim();
      const isReplaced = readFileSync(`/proc/${child.pid ?? 0}/comm`, 'utf8').trim() === 'sleep';
      return isReplaced && /^\d+$/.test(pids) ? Number(pids) : undefined;
    });
    const name = processName(below);
    expect(hasEnded(name)).toBe(false);
    process.kill(below, 'SIGKILL');
    await eventually('it has ended', () => (hasEnded(name) ? true : undefined));
    expect(() => process.kill(below, 0)).not.toThrow();
  });

  it.each([
    ['of another place', (name: string) => name.replace(/:[\w-]{12}\./, ':aaaaaaaaaaaa.')],
    ['of another host', (name: string) => `other-${name}`],
    ['without a start', (name: string) => name.replace(/\.\d+$/, '')],
    ['with a random mark', (name: string) => name.replace(/[\w-]{12}\.\d+$/, 'c0ffee00')],
    ['that is none', () => 'a worker'],
  ])('hasEnded returns false for a name %s', async (_, change) => {
    const { child, name } = await run('sleep', '1000');
    await end(child);
    expect(hasEnded(change(name))).toBe(false);
  });
});
