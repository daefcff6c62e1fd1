import { execFile, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { type NightshiftProcess, startProcess } from '../harness/processes.js';

const root = process.cwd();
const text = readFileSync(join(root, 'docs', 'cli.md'), 'utf8');
const examples = [...text.matchAll(/<!-- example: (\S+) -->\s+```sh\n([^]*?)\n```/g)];
const scriptOf = (name: string) => examples.find(([, found]) => found === name)?.[2] ?? '';

/** Two of them read JSON with jq, which a machine may not have. */
const hasJq = spawnSync('jq', ['--version']).status === 0;

/** The examples run in a checkout with a running `npm start`, and set nothing. */
describe('docs/cli.md examples', () => {
  let folder: string;
  let server: NightshiftProcess;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'nightshift-cli-docs-'));
    cpSync(join(root, 'examples'), join(folder, 'examples'), { recursive: true });
    mkdirSync(join(folder, 'bin'));
    symlinkSync(join(root, 'node_modules', '.bin', 'nightshift'), join(folder, 'bin', 'nightshift'));
    server = await startProcess({ role: 'all', flags: ['--data-dir', join(folder, '.nightshift')] });
  });

  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const inShell = async (script: string) => {
    const bin = join(root, 'node_modules', '.bin');
    const env = { PATH: `${join(folder, 'bin')}:${bin}:${process.env['PATH'] ?? ''}` };
    const line = script.replaceAll('npx nightshift', 'nightshift');
    return promisify(execFile)('bash', ['-ec', line], { cwd: folder, env });
  };

  const cases: [string, RegExp][] = [
    ['doctor', /✓ job +completed/],
    ['pipe', /You said: "Sort this list\.\s+milk\s+bread\s+apples"/],
    ['attach', /You said: "What is due\?[^]*Total due: 42 EUR/],
    ['approve', /approved: Run calculate\n[^]*391/],
    ['notifications', /^ +\$ (?:npx )?nightshift attach [\w-]{36}\n\d+ marked as read\.\n$/],
    ['json', /1024[^]*\n[\w-]{36}\n/],
    ['workflow', /can be saved|version 1 is published/],
  ];
  it.each(cases.filter(([name]) => hasJq || !scriptOf(name).includes('jq')))(
    'example %s prints what the page shows',
    async (name, wanted) => {
      const { stdout } = await inShell(scriptOf(name));
      expect(stdout).toMatch(wanted);
    },
  );

  it('this test runs every example of the page', () => {
    expect(examples.map(([, name]) => name)).toEqual([
      'doctor',
      'pipe',
      'attach',
      'approve',
      'notifications',
      'json',
      'workflow',
    ]);
  });
});
