import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestServer, type TestServer } from '@nightshift/plugin/testing';

import { createTestDatabase, TEST_SECRET, type TestDatabase } from '../harness/database.js';
import { untilWritten } from '../harness/eventually.js';
import { type HttpTarget, startHttpTarget } from '../harness/http-target.js';
import { startPluginServer } from '../harness/plugin-server.js';
import { type NightshiftProcess, startProcess } from '../harness/processes.js';

interface Ended {
  readonly status: string;
  readonly result?: string;
  readonly error?: string;
}

interface Report {
  readonly content: string;
  readonly artifacts: readonly { readonly name: string; readonly hash: string; readonly error?: object }[];
}

describe('tool of a plugin in a process of role tools', () => {
  const plugin = `import { definePlugin, defineTool } from '@nightshift/plugin';

const input = { type: 'object', properties: { text: { type: 'string' }, url: { type: 'string' } } };
const tool = (name, execute) => defineTool({ name, description: name, effect: 'idempotent', input, execute });
const textOf = ({ data }) => new TextDecoder().decode(data);

export default definePlugin({
  name: 'acme', version: '1', secrets: ['ACME_KEY'],
  tools: [
    tool('context', async ({ url }, { secrets, fetch, files, signal, logger, now, progress, ...shown }) => {
      const secret = await secrets.get('ACME_KEY');
      const response = await fetch(url, { headers: { authorization: 'Bearer ' + secret } });
      return { shown, secret, body: await response.text(), pid: process.pid, hasRootSecret: 'NIGHTSHIFT_SECRET' in process.env };
    }),
    tool('other_secret', (_args, { secrets }) => secrets.get('OTHER_KEY')),
    tool('report', ({ text }) => ({
      content: 'written',
      artifacts: [
        { name: 'report.html', mime: 'text/html', data: text },
        { name: 'report.txt', mime: 'text/plain', data: text },
      ],
    })),
    tool('read', async ({ text }, { files }) => textOf(await files.get(text))),
    tool('read_backwards', async ({ text }, { files }) => textOf(await files.get(text.split('').reverse().join('')))),
    tool('write', ({ text }, { files }) => files.put({ name: 'a.txt', mime: 'text/plain', data: text })),
  ],
});
`;

  let database: TestDatabase;
  let target: HttpTarget;
  let folder: string;
  let server: TestServer;
  let tools: NightshiftProcess;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'nightshift-plugin-tool-process-'));
    mkdirSync(join(folder, 'plugins'));
    writeFileSync(join(folder, 'plugins/acme.mjs'), plugin);
    target = await startHttpTarget((_, response) => response.end('answered'));
    database = await createTestDatabase();
    const databaseUrl = database.urls.owner;
    server = await createTestServer({
      ...{ server: process.cwd(), workingDirectory: folder },
      env: {
        ...{ DATABASE_URL: databaseUrl, NIGHTSHIFT_SECRET: TEST_SECRET, BUS: 'postgres' },
        ...{ WORKER_QUEUES: 'jobs', TOOL_ISOLATION: 'queue', FILE_BYTES_PER_WORKSPACE: '8192' },
      },
    });
    const env = { ALLOW_PRIVATE_TOOL_URLS: 'true' };
    tools = await startProcess({ role: 'tools', databaseUrl, secret: TEST_SECRET, cwd: folder, env });
    const set = `mutation ($input: SetWorkspaceSecretInput!) { setWorkspaceSecret(input: $input) { userErrors { message } } }`;
    await server.graphql(set, { input: { name: 'ACME_KEY', value: 'acme-secret-1234567890' } });
  });
  afterAll(async () => {
    await tools.stop();
    await server.close();
    await database.close();
    await target.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Runs a call in a tool process and returns its end, as the events of its job show it. */
  async function callOf(name: string, args: Readonly<Record<string, unknown>>): Promise<Ended> {
    server.model.reply([{ name, arguments: args }], 'done');
    const { jobId, status, events } = await server.run({ message: 'Use the tool', tools: [name] });
    expect(status).toBe('completed');
    const { rows } = await database.postgres.workerPool.query(
      'SELECT executor, exec_owner IS NOT NULL AS "isClaimed" FROM tool_call WHERE job_id = $1',
      [jobId],
    );
    expect(rows).toEqual([{ executor: 'queue', isClaimed: true }]);
    return (events.findLast(({ type }) => type.startsWith('tool-call'))?.body as { call: Ended }).call; // PROTOCOL.md
  }
  const report = async (text: string): Promise<Report> =>
    JSON.parse((await callOf('report', { text })).result ?? '') as Report;

  it('gets the context of its call, a secret of the manifest, and the guarded fetch', async () => {
    const { status, result } = await callOf('context', { url: target.url });
    const id = expect.stringMatching(/^[0-9a-f-]{36}$/);
    expect([status, JSON.parse(result ?? '')]).toEqual([
      'complete',
      {
        shown: {
          ...{
            workspaceId: id,
            jobId: id,
            threadId: id,
            userId: id,
            principal: expect.stringMatching(/^(?:key|user):/),
          },
          ...{ callId: expect.any(String), idempotencyKey: expect.any(String), epoch: 1, attempt: 1 },
        },
        ...{ secret: '[redacted]', body: 'answered', pid: tools.pid, hasRootSecret: false },
      },
    ]);
    expect(target.requests.at(-1)?.headers['authorization']).toBe('Bearer acme-secret-1234567890');
    expect(await callOf('other_secret', {})).toMatchObject({
      ...{ status: 'error', error: expect.stringContaining('does not name the secret "OTHER_KEY"') },
    });
  });

  it('runs in that process with TOOL_ISOLATION=queue, and so does a built-in tool', async () => {
    expect(await callOf('add_numbers', { a: 1, b: 2 })).toMatchObject({ status: 'complete', result: '3' });
  });

  it('returns files, which the worker stores for the requester, and an error for a file of a refused type', async () => {
    const { content, artifacts } = await report('quiet');
    expect([content, artifacts]).toEqual([
      'written',
      [
        { name: 'report.html', mime: 'text/html', error: expect.objectContaining({ code: 'unsupported_media_type' }) },
        { name: 'report.txt', mime: 'text/plain', hash: expect.stringMatching(/^[0-9a-f]{64}$/), bytes: 5 },
      ],
    ]);
    const headers = { authorization: `Bearer ${server.key}` };
    const file = await fetch(`${server.url}/api/files/${artifacts[1]?.hash ?? ''}`, { headers });
    expect(await file.text()).toBe('quiet');
    const { me } = (await server.graphql('{ me { workspaceId } }')) as { me: { workspaceId: string } }; // the query selects this field
    const { rows } = await database.postgres.withWorkspaceSql(me.workspaceId, (client) =>
      client.query('SELECT f.created_by = j.created_by AS "isOwn" FROM stored_file f, job j LIMIT 1'),
    );
    expect(rows).toEqual([{ isOwn: true }]);
  });

  it('reads a file that its arguments name, and no other', async () => {
    const hash = (await report('quiet')).artifacts[1]?.hash ?? '';
    expect(await callOf('read', { text: hash })).toMatchObject({ status: 'complete', result: 'quiet' });
    expect(await callOf('read_backwards', { text: hash.split('').reverse().join('') })).toMatchObject({
      ...{ status: 'error', error: expect.stringContaining('or the arguments of the call do not contain it') },
    });
  });

  it('cannot store a file during the call, and gets an error that names the alternative', async () => {
    expect(await callOf('write', { text: 'quiet' })).toMatchObject({
      ...{ status: 'error', error: expect.stringContaining('Return the file as an artifact of the result') },
    });
  });

  it('returns an error for a file that the worker could not store because the workspace is full', async () => {
    await report('the second file');
    const { artifacts } = await report('the third file');
    expect(artifacts[1]).toEqual({
      ...{ name: 'report.txt', mime: 'text/plain', error: expect.objectContaining({ code: 'limit_reached' }) },
    });
  });

  it('causes no error `permission denied` in its process', () => {
    expect(tools.output()).not.toContain('permission denied');
  });
});

describe('attempt in the context of a tool', () => {
  /** Each tool logs its attempt, and returns once a file exists. */
  const plugin = (folder: string) => `import { appendFileSync, existsSync } from 'node:fs';
import { definePlugin, defineTool } from '@nightshift/plugin';

const folder = ${JSON.stringify(folder)};
const tool = (name, isolation) => defineTool({
  name, description: name, effect: 'idempotent', isolation, input: { type: 'object' },
  async execute(args, { attempt, idempotencyKey }) {
    appendFileSync(folder + '/' + name + '.log', attempt + ' ' + idempotencyKey + '\\n');
    while (!existsSync(folder + '/' + name + '.go')) await new Promise((resolve) => setTimeout(resolve, 20));
    return 'attempt ' + attempt;
  },
});
export default definePlugin({ name: 'acme', version: '1', tools: [tool('plain', 'worker'), tool('isolated', 'queue')] });
`;

  let folder: string;
  let server: TestServer;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'nightshift-tool-attempts-'));
    mkdirSync(join(folder, 'plugins'));
    writeFileSync(join(folder, 'plugins/acme.ts'), plugin(folder));
    server = await startPluginServer(folder);
  });
  afterAll(async () => {
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it.each(['plain', 'isolated'])('counts the start that a crash has ended, for the tool "%s"', async (name) => {
    server.model.reply([{ name, arguments: {} }], 'done');
    const job = await server.start({ message: 'Go', tools: [name] });
    const log = join(folder, `${name}.log`);
    await untilWritten(log);
    await server.kill();
    appendFileSync(join(folder, `${name}.go`), '');
    await server.restart();
    const ended = await server.finished(job);
    expect(ended.status).toBe('completed');
    expect(readFileSync(log, 'utf8')).toBe(`1 ${job}:1:1\n2 ${job}:1:1\n`);
    expect(JSON.stringify(server.model.requests.at(-1)?.messages)).toContain('attempt 2');
  });
});
