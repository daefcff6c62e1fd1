import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { findPgTools } from './pg-tools.js';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'nightshift-tools-'));
  await programs('v97', '97.1', '97.1');
  await programs('v98', '98.2', '98.2');
  await programs('v99', '99.0', '99.0');
  await programs('mixed', '98.2', '99.0');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function programs(name: string, dump: string, restore: string): Promise<void> {
  await mkdir(join(folder, name));
  for (const [program, version] of [['pg_dump', dump] as const, ['pg_restore', restore] as const]) {
    const file = join(folder, name, program);
    await writeFile(file, `#!/bin/sh\necho "${program} (PostgreSQL) ${version} (Test)"\n`);
    await chmod(file, 0o755);
  }
}

const path = (...names: string[]) => names.map((name) => join(folder, name)).join(delimiter);
const server = { major: 98, text: '98.0' };

describe('findPgTools', () => {
  it("uses the programs of the server's version from any place on the PATH", async () => {
    expect(await findPgTools(server, path('v99', 'v97', 'missing', 'v98'))).toEqual({
      folder: join(folder, 'v98'),
      ...{ major: 98, version: '98.2' },
    });
  });

  it('uses newer programs if that version is not installed', async () => {
    expect(await findPgTools(server, path('v97', 'v99'))).toMatchObject({ version: '99.0' });
  });

  it('names the package to install when all programs are older or their versions differ', async () => {
    const refusal = findPgTools(server, path('v97', 'mixed'));
    await expect(refusal).rejects.toMatchObject({ code: 'pg_tools_missing' });
    await expect(refusal).rejects.toThrow(
      /^Postgres 98\.0 needs .* 98 or newer\. Found: 97\.1 in .*postgresql-client-98/,
    );
  });
});
