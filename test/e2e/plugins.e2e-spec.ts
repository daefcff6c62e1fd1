import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestServer, type RecordedEvent, type TestServer } from '@nightshift/plugin/testing';

import { documentExample } from '../harness/document-example.js';
import { runToEnd } from '../harness/processes.js';

const plugin = `import { definePlugin, defineTool } from '@nightshift/plugin';
import { z } from 'zod';
import { loud } from './loud.ts';

const input = z.object({ text: z.string().default('nothing') });

const shout = defineTool({
  name: 'shout', description: 'Shouts a text.', effect: 'pure', input,
  async *execute({ text }, { progress: _, signal, now, fetch, logger, secrets, files, ...shown }) {
    logger.info({ length: text.length }, 'shouting');
    yield { progress: 1, total: 2, message: 'half of it' };
    return { text: loud(text), shown, isTime: now() > 0, isStopped: signal.aborted };
  },
});
const isolated = defineTool({
  name: 'shout_isolated', description: 'Shouts in the queue.', effect: 'idempotent', isolation: 'queue', input,
  server: async ({ text }, { userId, attempt, secrets }) => ({
    ...{ text: loud(text), userId, attempt }, secret: await secrets.get('ACME_KEY'),
  }),
  client: ({ text }) => text,
});
const curious = defineTool({
  name: 'curious', description: 'Reads a secret of others.', input,
  execute: (_args, { secrets }) => secrets.get('OTHER_KEY'),
});
const private_ = defineTool({
  name: 'private_fetch', description: 'Calls a private address.', input,
  execute: async (_args, { fetch }) => (await fetch('http://127.0.0.1:1/')).status,
});
const chart = (name: string, more: object) => defineTool({
  name, description: 'Draws a chart.', effect: 'pure', input, ...more,
  execute: ({ text }) => ({
    content: 'drawn',
    artifacts: [
      { name: 'chart.csv', mime: 'text/csv', data: new TextEncoder().encode(text) },
      { name: 'chart.html', mime: 'text/html', data: text },
    ],
  }),
});
const copy = defineTool({
  name: 'copy_file', description: 'Copies a file.', effect: 'pure',
  input: z.object({ hash: z.string() }),
  execute: async ({ hash }, { files }) => {
    const { data, mime } = await files.get(hash);
    return files.put({ name: 'copy.csv', mime, data: loud(new TextDecoder().decode(data)) });
  },
});
export default definePlugin({
  name: 'acme', version: '1.2.3', secrets: ['ACME_KEY'],
  tools: [shout, isolated, curious, private_, chart('chart', {}), chart('chart_isolated', { isolation: 'queue' }), copy],
});
`;

let folder: string;
let server: TestServer;

const write = (path: string, text: string): string => {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
};

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'nightshift-plugins-'));
  write('plugins/acme/package.json', '{ "name": "acme-plugin", "type": "module" }');
  write('plugins/acme/index.ts', plugin);
  write('plugins/acme/loud.ts', 'export const loud = (text: string): string => text.toUpperCase();\n');
  write('plugins/reports.ts', documentExample('docs/plugins.md', 'artifacts'));
  write('plugins/shipping.ts', documentExample('docs/plugins.md', 'tool'));
  const timeZone = write('time-zone.mts', documentExample('docs/plugins.md', 'time-zone'));
  write('client.ts', documentExample('docs/plugins.md', 'shared-client'));
  symlinkSync(join(process.cwd(), 'node_modules'), join(folder, 'node_modules'));
  server = await createTestServer({ server: process.cwd(), workingDirectory: folder, plugins: [timeZone] });
  const set = `mutation ($input: SetWorkspaceSecretInput!) { setWorkspaceSecret(input: $input) { userErrors { message } } }`;
  await server.graphql(set, { input: { name: 'ACME_KEY', value: 'acme-secret-1234567890' } });
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Ended {
  readonly status: string;
  readonly result?: string;
  readonly error?: string;
}

/** A file, as a stored result names it. */
interface Artifact {
  readonly hash: string;
}

async function fileOf(hash: string) {
  const reply = await fetch(`${server.url}/api/files/${hash}`, { headers: { Authorization: `Bearer ${server.key}` } });
  return { type: reply.headers.get('content-type')?.split(';')[0], text: await reply.text() };
}

/** How a call of a tool ended, as its job shows it. */
async function callOf(name: string, args: Readonly<Record<string, unknown>> = {}): Promise<Ended> {
  server.model.reply([{ name, arguments: args }], 'done');
  const { status, events } = await server.run({ message: 'Use the tool', tools: [name] });
  expect(status).toBe('completed');
  const updates = events.filter(({ type }: RecordedEvent) => type.startsWith('tool-call'));
  return (updates.at(-1)?.body as { call: Ended }).call; // PROTOCOL.md
}

describe('server with a plugin in ./plugins', () => {
  it('runs its tools in the worker with parsed arguments and a full context', async () => {
    const { status, result } = await callOf('shout', { text: 'hello' });
    expect(status).toBe('complete');
    const id = expect.stringMatching(/^[0-9a-f-]{36}$/);
    expect(JSON.parse(result ?? '')).toEqual({
      text: 'HELLO',
      isTime: true,
      isStopped: false,
      shown: {
        ...{ workspaceId: id, jobId: id, threadId: id, userId: id },
        principal: expect.stringMatching(/^(?:key|user):/),
        callId: expect.any(String),
        idempotencyKey: expect.any(String),
        epoch: 1,
        attempt: 1,
      },
    });
    expect(server.logs()).toContainEqual(
      expect.objectContaining({ plugin: 'acme', msg: 'shouting', details: { length: 5 } }),
    );
  });

  it('shows the values that a tool yields as progress, and not as its result', async () => {
    server.model.reply([{ name: 'shout', arguments: { text: 'hello' } }], 'done');
    const { events } = await server.run({ message: 'Use the tool', tools: ['shout'] });
    const shown = events.filter(({ type }) => type === 'tool-progress').map(({ body }) => body);
    expect(shown).toEqual([expect.objectContaining({ progress: 1, total: 2, message: 'half of it' })]);
  });

  it('runs its isolated tools, which read secrets of the manifest; values are redacted', async () => {
    const { status, result } = await callOf('shout_isolated', {});
    expect(status).toBe('complete');
    expect(JSON.parse(result ?? '')).toEqual({
      text: 'NOTHING',
      userId: expect.any(String),
      attempt: 1,
      secret: '[redacted]',
    });
  });

  it.each(['chart', 'chart_isolated'])('stores the artifacts of %s as files of the workspace', async (tool) => {
    const { status, result } = await callOf(tool, { text: `a,b of ${tool}` });
    expect(status).toBe('complete');
    const { content, artifacts } = JSON.parse(result ?? '') as { content: string; artifacts: Artifact[] };
    expect(content).toBe('drawn');
    const hash = expect.stringMatching(/^[0-9a-f]{64}$/);
    expect(artifacts).toEqual([
      { hash, name: 'chart.csv', mime: 'text/csv', bytes: `a,b of ${tool}`.length },
      { name: 'chart.html', mime: 'text/html', error: { code: 'unsupported_media_type', message: expect.any(String) } },
    ]);
    expect(await fileOf(artifacts[0]?.hash ?? '')).toEqual({ type: 'text/csv', text: `a,b of ${tool}` });
  });

  it('lets a tool read and write files of the workspace, and reports a file that is not there', async () => {
    const { result: drawn } = await callOf('chart', { text: 'quiet' });
    const { artifacts } = JSON.parse(drawn ?? '') as { artifacts: Artifact[] };
    const { result } = await callOf('copy_file', { hash: artifacts[0]?.hash ?? '' });
    const copied = JSON.parse(result ?? '') as Artifact;
    expect(copied).toMatchObject({ name: 'copy.csv', mime: 'text/csv', bytes: 5 });
    expect(await fileOf(copied.hash)).toEqual({ type: 'text/csv', text: 'QUIET' });
    const { status, error } = await callOf('copy_file', { hash: '0'.repeat(64) });
    expect({ status, error }).toEqual({ status: 'error', error: expect.stringContaining('no file with this hash') });
  });

  it('refuses secrets that the manifest does not name, and private addresses', async () => {
    expect((await callOf('curious')).error).toContain('does not name the secret "OTHER_KEY" in its manifest');
    expect((await callOf('private_fetch')).status).toBe('error');
  });

  it('lists plugins with version and hash in the query plugins, in /readyz and in the log', async () => {
    const shown = {
      ...{ name: 'acme', version: '1.2.3', hash: expect.stringMatching(/^[0-9a-f]{64}$/) },
      tools: ['shout', 'shout_isolated', 'curious', 'private_fetch', 'chart', 'chart_isolated', 'copy_file'],
      ...{ hooks: [], nodes: [] },
    };
    const shipping = { name: 'shipping', version: '1.0.0', tools: ['shipping_quote'] };
    const timeZone = { name: 'time-zone', tools: ['time_zone'] };
    const reports = { name: 'reports', tools: ['sales_report', 'sales_total'] };
    const [first, last] = [
      expect.objectContaining(timeZone),
      [reports, shipping].map((it) => expect.objectContaining(it)),
    ];
    const plugins = [first, shown, ...last];
    expect(await server.graphql(documentExample('docs/plugins.md', 'list'))).toEqual({ plugins });
    const { tools } = (await server.graphql('{ tools { name plugin { name version } } }')) as {
      tools: readonly { readonly name: string; readonly plugin: object | null }[];
    }; // the query selects this field
    const pluginOf = (tool: string) => tools.find(({ name }) => name === tool)?.plugin;
    expect([pluginOf('shout'), pluginOf('calculate')]).toEqual([{ name: 'acme', version: '1.2.3' }, null]);
    const ready = (await (await fetch(`${server.url}/readyz`)).json()) as { plugins: unknown };
    expect(ready.plugins).toEqual(plugins);
    const { name, ...logged } = shown;
    expect(server.logs()).toContainEqual(expect.objectContaining({ msg: 'plugin loaded', plugin: name, ...logged }));
  });

  it('runs the tool of docs/plugins.md', async () => {
    const { result } = await callOf('shipping_quote', { kilograms: 2, country: 'PT' });
    expect(result).toBe('{"country":"PT","euros":8}');
  });

  it('runs the tools of docs/plugins.md that store and read a file', async () => {
    const { result } = await callOf('sales_report', { year: 2026 });
    const { content, artifacts } = JSON.parse(result ?? '') as { content: string; artifacts: Artifact[] };
    expect({ content, artifacts }).toMatchObject({
      content: 'The sales of 2026.',
      artifacts: [{ name: 'sales-2026.csv', mime: 'text/csv', bytes: 19 }],
    });
    expect((await callOf('sales_total', { hash: artifacts[0]?.hash ?? '' })).result).toBe('4200');
  });

  it('runs the server handler of a shared tool on the server, and its client handler in a client with the definition', async () => {
    expect(await callOf('time_zone')).toMatchObject({ result: 'unknown: the user has no device connected' });
    server.model.reply([{ name: 'time_zone', arguments: {} }], 'It is your own.');
    const env = { PATH: process.env['PATH'], TZ: 'Asia/Tokyo', NIGHTSHIFT_URL: server.url, NIGHTSHIFT_KEY: server.key };
    const { stdout } = await promisify(execFile)(process.execPath, ['client.ts'], { cwd: folder, env });
    expect(stdout).toBe('It is your own.\n');
    expect(server.model.requests.at(-1)?.messages.at(-1)).toMatchObject({ role: 'tool', content: 'Asia/Tokyo' });
  });

  it('completes a call once more after a crash of the server', async () => {
    server.model.reply([{ name: 'shout_isolated', arguments: { text: 'again' } }], 'done');
    const jobId = await server.start({ message: 'Use the tool', tools: ['shout_isolated'] });
    await server.kill();
    await server.restart();
    expect((await server.finished(jobId)).status).toBe('completed');
  });
});

describe('start with a plugin that cannot be loaded', () => {
  const tool = (more: string) =>
    `import { defineTool } from '@nightshift/plugin';
export const tool = defineTool({ name: 'own', description: 'd', input: { type: 'object' }, execute: () => 1, ${more} });`;

  it.each([
    ['syntax that cannot be stripped', 'export enum A { B }', 'use syntax that Node.js can strip'],
    ['an error in the module', '\n\nundefinedThing();', '/bad/tool.ts:3).'],
    [
      'the name of a built-in tool',
      tool(`name: 'calculate'`),
      'Tool "calculate" cannot be registered: its name is taken',
    ],
    [
      'the name of a tool that a setting turns on',
      tool(`name: 'start_job'`),
      'Tool "start_job" cannot be registered: its name is taken by a tool of the server',
    ],
    [
      'a schema that is not JSON Schema',
      tool(`input: { type: 'object', properties: 3 }`),
      'The JSON Schema cannot be used',
    ],
    [
      'a timeout above the limit',
      tool('timeoutMs: 90_000_000'),
      'above the limit of 86400000 ms (MAX_TOOL_TIMEOUT_MS)',
    ],
  ])('ends with exit code 2, the file and the reason for %s', async (_problem, text, reason) => {
    const file = write('bad/tool.ts', text);
    const ended = await runToEnd(['--port', '0', '--data-dir', join(folder, 'bad-data')], { PLUGINS: file });
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain(`The plugin ${file} cannot be loaded: `);
    expect(ended.stderr).toContain(reason);
    expect(ended.stderr).not.toContain('"level":"error"');
  });
});
