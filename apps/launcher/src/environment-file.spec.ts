import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'nightshift-env-'));
  writeFileSync(join(folder, '.env'), 'MODEL_NAME=from-file\nLOG_LEVEL=warn\n');
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** What a process prints of its settings after it has read the file. */
async function settingsWith(env: Readonly<Record<string, string>>): Promise<string> {
  const module = join(process.cwd(), 'apps/launcher/src/environment-file.ts');
  const script = `import { readEnvironmentFile } from ${JSON.stringify(module)};
    readEnvironmentFile(${JSON.stringify(folder)}); readEnvironmentFile('/nowhere');
    console.log(process.env.MODEL_NAME, process.env.LOG_LEVEL);`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    env: { PATH: process.env['PATH'], ...env },
  });
  return stdout;
}

describe('readEnvironmentFile', () => {
  it('adds variables of .env and does not replace variables that are set', async () => {
    expect(await settingsWith({ LOG_LEVEL: 'debug' })).toBe('from-file debug\n');
  });

  it.each(['false', 'off', '0'])('reads nothing with READ_ENV_FILE=%s', async (value) => {
    expect(await settingsWith({ READ_ENV_FILE: value })).toBe('undefined undefined\n');
  });
});
