import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestServer, type FinishedJob, type TestServer } from '@nightshift/plugin/testing';

import { runCli } from '../harness/cli.js';
import { eventually } from '../harness/eventually.js';

const plugin = `import { defineHook, definePlugin, defineTool } from '@nightshift/plugin';

const tool = (name, execute) => defineTool({ name, description: name, effect: 'pure', input: { type: 'object' }, execute });
const failing = {
  hang: () => new Promise(() => undefined),
  throw: () => { throw new Error('broken'); },
  nonsense: () => ({ lunch: true }),
  circle: () => { const value = {}; value.self = value; return { arguments: value }; },
};
const hook = (failure) => defineHook({
  on: 'beforeToolCall', name: failure + '-hook', failure, timeoutMs: 50, match: { tool: failure + '_*' },
  run: ({ tool }) => failing[tool.split('_')[1]](),
});
const names = ['open', 'closed'].flatMap((failure) => Object.keys(failing).map((name) => failure + '_' + name));
export default definePlugin({
  name: 'acme', version: '1', hooks: [hook('open'), hook('closed')],
  tools: [
    ...names.map((name) => tool(name, () => 'ran')),
    tool('stray_timer', () => { setTimeout(() => { throw new Error('from a timer'); }, 1); return 'set'; }),
    tool('stray_promise', () => { void Promise.reject(new Error('from a promise')); return 'left'; }),
    tool('fatal', () => { setTimeout(() => { process.emit('uncaughtException', Object.assign(new Error('not of a plugin'), { stack: 'Error' })); }, 1); return 'set'; }),
  ],
  close: () => new Promise(() => undefined),
});
`;

let folder: string;
let server: TestServer;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'nightshift-plugin-failures-'));
  mkdirSync(join(folder, 'plugins'));
  writeFileSync(join(folder, 'plugins/acme.mjs'), plugin);
  symlinkSync(join(process.cwd(), 'node_modules'), join(folder, 'node_modules'));
  const env = { METRICS_TOKEN: 'metrics-token-of-a-test-0123456789' };
  server = await createTestServer({ server: process.cwd(), workingDirectory: folder, env });
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

function run(name: string): Promise<FinishedJob> {
  server.model.reply([{ name, arguments: {} }], 'done');
  return server.run({ message: 'Use the tool', tools: [name] });
}
const callOf = ({ events }: FinishedJob) =>
  events.filter(({ type }) => type.startsWith('tool-call')).at(-1)?.body['call'] as Readonly<Record<string, unknown>>; // PROTOCOL.md
const metrics = async () => {
  const headers = { authorization: 'Bearer metrics-token-of-a-test-0123456789' };
  return (await fetch(`${server.url}/metrics`, { headers })).text();
};

describe('hooks that fail in a running server', () => {
  it.each(['hang', 'throw', 'nonsense', 'circle'])('let the call run if they are open: %s', async (name) => {
    const job = await run(`open_${name}`);
    expect([job.status, callOf(job)]).toEqual(['completed', expect.objectContaining({ result: 'ran' })]);
    expect(job.events.some(({ type }) => type === 'hook-applied')).toBe(false);
  });

  it.each(['hang', 'throw', 'nonsense', 'circle'])('deny the call if they are closed: %s', async (name) => {
    const job = await run(`closed_${name}`);
    expect([job.status, callOf(job)]).toEqual([
      'completed',
      expect.objectContaining({ error: 'The hook "closed-hook" failed.' }),
    ]);
    expect(job.events.find(({ type }) => type === 'hook-applied')?.body).toMatchObject({ what: ['hook_failed'] });
  });

  it('increase a counter by hook and outcome', async () => {
    const text = await metrics();
    for (const failure of ['open', 'closed'])
      for (const [outcome, count] of [
        ['timed_out', 1],
        ['failed', 3],
      ])
        expect(text).toContain(
          `nightshift_hook_runs_total{hook="${failure}-hook",on="beforeToolCall",outcome="${String(outcome)}"} ${String(count)}`,
        );
  });
});

describe('errors of a plugin outside of its calls', () => {
  it.each([
    ['stray_timer', 'from a timer'],
    ['stray_promise', 'from a promise'],
  ])('are logged with the plugin and do not stop the server: %s', async (name, message) => {
    expect((await run(name)).status).toBe('completed');
    const line = await eventually('the error is logged', () =>
      server.logs().find(({ err }) => (err as { message?: string } | undefined)?.message === message),
    );
    expect(line).toMatchObject({ plugin: 'acme', msg: 'code of a plugin threw outside of its calls' });
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
  });

  it('increase a counter by plugin', async () => {
    expect(await metrics()).toContain('nightshift_plugin_stray_errors_total{plugin="acme"} 2');
  });

  it('stop the server if no file of a plugin is in their stack', async () => {
    await run('fatal').catch(() => undefined);
    await eventually('the server has ended', async () => {
      const isUp = await fetch(`${server.url}/healthz`).then(
        () => true,
        () => false,
      );
      return isUp ? undefined : true;
    });
    expect(server.logs()).toContainEqual(expect.objectContaining({ msg: 'an unexpected error stops this process' }));
    await eventually('the server no longer waits for the plugin', () =>
      server.logs().find(({ plugin: name, msg }) => name === 'acme' && msg === 'a plugin failed to close'),
    );
  });
});

describe('nightshift plugins check', () => {
  it('prints the file and the reason for a module that never ends', async () => {
    writeFileSync(join(folder, 'endless.mjs'), 'await new Promise(() => undefined);\n');
    const { code, stderr } = await runCli(['plugins', 'check', 'endless.mjs'], { cwd: folder });
    const file = join(folder, 'endless.mjs');
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: `The plugin ${file} cannot be loaded: it did not load within 10 s.\n`,
    });
  });
});
