import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { DataDirLock } from './data-dir-lock.js';
import { createEphemeralDataDir } from './ephemeral-data-dir.js';

/** Above the largest process id of Linux. */
const NO_PROCESS = 2 ** 22 + 1;

describe('createEphemeralDataDir', () => {
  let parent: string;
  const left = (pid: number) => {
    const path = join(parent, `nightshift-ephemeral-${pid}-abc`);
    mkdirSync(join(path, 'postgres'), { recursive: true });
    return path;
  };

  beforeEach(() => {
    parent = mkdtempSync(join(tmpdir(), 'nightshift-test-'));
  });
  afterEach(() => {
    rmSync(parent, { recursive: true, force: true });
  });

  it('creates a directory and removes it', async () => {
    const { path, remove } = await createEphemeralDataDir(parent);
    expect(existsSync(path)).toBe(true);
    await remove();
    expect(existsSync(path)).toBe(false);
  });

  it('deletes the directory of a killed process, and keeps that of a running process', async () => {
    const [killed, running] = [left(NO_PROCESS), left(process.pid)];
    await createEphemeralDataDir(parent);
    expect([existsSync(killed), existsSync(running)]).toEqual([false, true]);
  });

  it('keeps a locked directory even if its name contains the id of an ended process', async () => {
    const used = left(NO_PROCESS);
    const lock = await DataDirLock.take(used);
    await createEphemeralDataDir(parent);
    expect(existsSync(used)).toBe(true);
    await lock.release();
  });
});
