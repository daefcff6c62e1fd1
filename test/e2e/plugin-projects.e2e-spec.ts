import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

const run = promisify(execFile);
const root = process.cwd();
const node = join(root, 'node_modules', '.bin', 'node');
let folder: string;

const nightshift = (...words: readonly string[]) =>
  run(node, [join(root, 'dist', 'apps', 'cli', 'main.js'), ...words], { cwd: folder });

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'nightshift-init-'));
  await run(node, [join(root, 'scripts', 'bootstrap.mjs')], { cwd: root });
  // Where npm would install them.
  const modules = join(folder, 'node_modules');
  mkdirSync(modules);
  symlinkSync(root, join(modules, 'nightshift'));
  for (const name of ['@nightshift', '@types', 'zod'])
    symlinkSync(join(root, 'node_modules', name), join(modules, name));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

describe('nightshift init', () => {
  it('writes a project whose types are correct and whose test passes on a real server', async () => {
    await nightshift('init', 'my-plugin', '--tool', '--hook', '--node');
    const project = join(folder, 'my-plugin');
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    await run(node, [tsc, '-p', project]);
    const env = { PATH: process.env['PATH'], HOME: process.env['HOME'] };
    const { stdout } = await run(node, ['--test', '--test-reporter=tap', 'test/index.test.ts'], { cwd: project, env });
    expect(stdout).toContain('ok 1 - the server loads the plugin');
    expect(stdout).toContain('ok 2 - a model calls the tool');
  });

  it('changes no folder that has a project', async () => {
    await nightshift('init', 'taken');
    await expect(nightshift('init', 'taken')).rejects.toMatchObject({ code: 2 });
  });
});

describe('nightshift plugins check', () => {
  it('prints what a plugin offers', async () => {
    await nightshift('init', 'good', '--tool', '--node');
    const { stdout } = await nightshift('plugins', 'check', 'good');
    expect(stdout).toMatch(
      /^good 0\.1\.0 [0-9a-f]{64}\n {2}tools: shout\n {2}hooks: none\n {2}nodes: good\.count_words\n$/,
    );
  });

  it('prints the file and the reason for a plugin that a server would refuse, and ends with exit code 2', async () => {
    writeFileSync(join(folder, 'bad.mjs'), "throw new Error('no license');\n");
    const failed = nightshift('plugins', 'check', 'bad.mjs');
    await expect(failed).rejects.toMatchObject({
      code: 2,
      stderr: `The plugin ${join(folder, 'bad.mjs')} cannot be loaded: no license.\n`,
    });
  });
});
