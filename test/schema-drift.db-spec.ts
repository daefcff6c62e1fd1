import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, it } from '@jest/globals';

import { testServerUrl } from './harness/database.js';

const root = join(import.meta.dirname, '..');

async function drift(...options: string[]): Promise<{ code: number; output: string }> {
  const DATABASE_URL = await testServerUrl();
  return new Promise((resolve) => {
    const script = join(root, 'scripts', 'schema-drift.mjs');
    const child = execFile(process.execPath, [script, ...options], { env: { DATABASE_URL } }, (_error, output) => {
      resolve({ code: child.exitCode ?? -1, output });
    });
  });
}

it('the Prisma schema and the migrations agree', async () => {
  expect(await drift()).toEqual({ code: 0, output: 'schema and migrations agree\n' });
});

it('schema-drift prints the missing SQL when schema and migrations differ', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'drift-'));
  const schema = await readFile(join(root, 'prisma', 'schema.prisma'), 'utf8');
  const other = join(folder, 'schema.prisma');
  await writeFile(other, schema.replace('@map("max_jobs")', '@map("most_jobs")'));
  const { code, output } = await drift('--schema', other);
  expect(code).toBe(1);
  expect(output).toContain('most_jobs');
  await rm(folder, { recursive: true });
});
