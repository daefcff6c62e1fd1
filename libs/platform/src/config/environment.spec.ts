import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { expect, it } from '@jest/globals';

it('readEnvironmentFile adds variables of .env and keeps those that are set', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'nightshift-env-'));
  writeFileSync(join(folder, '.env'), 'MODEL_NAME=from-file\nLOG_LEVEL=warn\n');
  const module = join(process.cwd(), 'libs/platform/src/config/environment.ts');
  const script = `import { processEnvironment, readEnvironmentFile } from ${JSON.stringify(module)};
    readEnvironmentFile(${JSON.stringify(folder)}); readEnvironmentFile('/nowhere');
    const { MODEL_NAME, LOG_LEVEL } = processEnvironment(); console.log(MODEL_NAME, LOG_LEVEL);`;
  const env = { PATH: process.env['PATH'], LOG_LEVEL: 'debug' };
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { env });
  rmSync(folder, { recursive: true });
  expect(stdout).toBe('from-file debug\n');
});
