import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestServer, type FinishedJob, type TestServer } from '@nightshift/plugin/testing';

import { announceDue } from '../harness/announce-due.js';
import { createTestDatabase, TEST_SECRET, type TestDatabase } from '../harness/database.js';
import { documentExample } from '../harness/document-example.js';
import { eventually, untilWritten } from '../harness/eventually.js';
import { workflowDocument } from '../harness/workflow-document.js';

const plugin = `import { appendFileSync, existsSync } from 'node:fs';
import { defineHook, defineNode, definePlugin } from '@nightshift/plugin';
import { z } from 'zod';

const score = defineNode({
  type: 'acme.points', title: 'Score', description: 'Scores a text.', icon: 'star', effect: 'pure',
  input: z.object({ words: z.array(z.string()).min(1), factor: z.number().positive().default(2), text: z.string().optional() }),
  output: z.object({ score: z.number().max(100) }),
  run(context, { words, factor, text = context.input }) {
    context.progress({ progress: 1, total: 2, message: 'counting' });
    context.logger.info({ words: words.length }, 'scoring');
    return { score: factor * words.filter((word) => text.includes(word)).length };
  },
});
const show = defineNode({
  type: 'acme.show', title: 'Show', effect: 'pure', input: { type: 'object', additionalProperties: true },
  async run({ signal, now, progress, secrets, fetch, logger, files, ...shown }, data) {
    const secret = await secrets.get('ACME_KEY');
    const refused = await fetch('http://127.0.0.1:8080/').then(() => 'sent', (error) => error.message);
    return { shown, data, secret, refused, isTime: now() > 0, isStopped: signal.aborted };
  },
});
const flaky = defineNode({
  type: 'acme.flaky', title: 'Flaky', effect: 'idempotent', retry: { attempts: 3, delayMs: 1 }, input: z.object({ fails: z.number() }),
  run({ attempt, idempotencyKey }, { fails }) {
    if (attempt <= fails) throw new Error('busy, attempt ' + attempt + ' of ' + idempotencyKey.split(':')[1]);
    return { attempt };
  },
});
const slow = defineNode({
  type: 'acme.slow', title: 'Slow', timeoutMs: 50, input: z.object({}),
  run: () => new Promise(() => undefined),
});
const endless = defineNode({
  type: 'acme.endless', title: 'Endless', timeoutMs: 50, input: z.object({}).refine(() => new Promise(() => undefined)),
  run: () => 'never',
});
const hang = (type, effect) => defineNode({
  type, title: type, effect, input: z.object({ file: z.string(), release: z.string() }),
  async run({ attempt, idempotencyKey }, { file, release }) {
    appendFileSync(file, attempt + ' ' + idempotencyKey + '\\n');
    while (!existsSync(release)) await new Promise((resolve) => setTimeout(resolve, 20));
    return 'attempt ' + attempt;
  },
});
const report = defineNode({
  type: 'acme.report', title: 'Report', effect: 'pure', input: z.object({}),
  output: z.object({ content: z.string(), artifacts: z.array(z.object({ name: z.string(), hash: z.string().optional() })) }),
  run: ({ input }) => ({
    content: 'written',
    artifacts: [{ name: 'report.txt', mime: 'text/plain', data: input }, { name: 'report.html', mime: 'text/html', data: input }],
  }),
});
const copy = defineNode({
  type: 'acme.copy', title: 'Copy', effect: 'pure', input: z.object({}),
  async run({ input, files }) {
    const { data } = await files.get(JSON.parse(input).artifacts[0].hash);
    return files.put({ name: 'copy.txt', mime: 'text/plain', data: new TextDecoder().decode(data).toUpperCase() });
  },
});
const reading = defineHook({
  on: 'afterNode', name: 'reading', match: 'node.type == "acme.copy"',
  async run({ output }, { files }) {
    const { data, name } = await files.get(JSON.parse(output).hash);
    return { output: { text: new TextDecoder().decode(data), name, canWrite: 'put' in files } };
  },
});
export default definePlugin({
  hooks: [reading],
  name: 'acme', version: '1.0.0', secrets: ['ACME_KEY'],
  nodes: [report, copy, score, show, flaky, slow, endless, hang('acme.idempotent', 'idempotent'), hang('acme.once')],
});
`;

let database: TestDatabase;
let folder: string;
let server: TestServer;

const write = (path: string, text: string): string => {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
};

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'nightshift-plugin-nodes-'));
  write('plugins/acme.ts', plugin);
  write('plugins/scoring.ts', documentExample('docs/plugins.md', 'node'));
  database = await createTestDatabase();
  const env = { DATABASE_URL: database.urls.owner, NIGHTSHIFT_SECRET: TEST_SECRET };
  server = await createTestServer({ server: process.cwd(), workingDirectory: folder, env });
  const set = `mutation ($input: SetWorkspaceSecretInput!) { setWorkspaceSecret(input: $input) { userErrors { message } } }`;
  await server.graphql(set, { input: { name: 'ACME_KEY', value: 'acme-secret-1234567890' } });
});
afterAll(async () => {
  await server.close();
  await database.close();
  rmSync(folder, { recursive: true, force: true });
});

let workflows = 0;
const definition = (type: string, data: object, edges: readonly string[] = []) => {
  workflows += 1;
  return workflowDocument(
    { start: 'start', n: [type, { ...data }], ...(edges.length > 0 ? { failed: ['output', { format: 'text' }] } : {}) },
    ['start > n', ...edges],
    { name: `plugin nodes ${workflows}`, id: `plugin-nodes-${workflows}` },
  ) as unknown as Record<string, unknown>; // a document is an object
};
const run = (type: string, data: object, prompt = 'the quick brown fox'): Promise<FinishedJob> =>
  server.runWorkflow({ definition: definition(type, data), prompt });

interface Request {
  readonly id: string;
  readonly kind: string;
  readonly title: string;
  readonly request: Readonly<Record<string, unknown>>;
}

const requestsOf = async (jobId: string): Promise<readonly Request[]> => {
  const { interrupts } = (await server.graphql(
    `query ($jobId: ID!) { interrupts(filter: { jobId: { eq: $jobId }, status: { eq: OPEN } }, first: 5) { nodes { id kind title request } } }`,
    { jobId },
  )) as { interrupts: { nodes: readonly Request[] } };
  return interrupts.nodes;
};
const requestOf = (jobId: string): Promise<Request> =>
  eventually('the job waits', async () => (await requestsOf(jobId))[0]);
const decide = (id: string, answer: object) =>
  server.graphql(
    `mutation ($input: ResolveInterruptInput!) { resolveInterrupt(input: $input) { userErrors { message } } }`,
    { input: { id, ...answer } },
  );
const finishedNode = ({ events }: FinishedJob) =>
  events.find(({ type, body }) => type === 'node-finished' && body['nodeId'] === 'n')?.body;

describe('a workflow with a node of a plugin', () => {
  it('runs the node with parsed data and passes its output on', async () => {
    const job = await run('acme.points', { words: ['fox', 'quick', 'dog'] });
    expect(job).toMatchObject({ status: 'completed', text: '{"score":4}' });
    expect(finishedNode(job)).toMatchObject({ type: 'acme.points', status: 'completed', output: '{"score":4}' });
    const progress = job.events.find(({ type }) => type === 'node-progress')?.body;
    expect(progress).toMatchObject({ nodeId: 'n', progress: 1, total: 2, message: 'counting' });
    expect(server.logs()).toContainEqual(expect.objectContaining({ plugin: 'acme', msg: 'scoring', nodeId: 'n' }));
  });

  it('passes the context to the node, fills the templates of its data, and redacts secrets', async () => {
    const job = await run('acme.show', { text: 'read: {{input}}', list: ['{{input}}'] }, 'hello');
    const id = expect.stringMatching(/^[0-9a-f-]{36}$/);
    expect(JSON.parse(job.text)).toEqual({
      shown: {
        ...{ workspaceId: id, jobId: job.jobId, threadId: null, workflowId: id, userId: id, input: 'hello' },
        principal: expect.stringMatching(/^(?:key|user):/),
        ...{ nodeId: 'n', nodeRun: 2, attempt: 1, idempotencyKey: `${job.jobId}:2` },
      },
      data: { text: 'read: hello', list: ['hello'] },
      ...{
        secret: '[redacted]',
        refused: expect.stringContaining('address is not public'),
        isTime: true,
        isStopped: false,
      },
    });
  });

  it('stores the artifacts of a node, and lets later nodes and hooks read files', async () => {
    const document = workflowDocument(
      { start: 'start', report: ['acme.report', {}], copy: ['acme.copy', {}] },
      ['start > report', 'report > copy'],
      { name: 'files of nodes', id: 'files-of-nodes' },
    ) as unknown as Record<string, unknown>; // a document is an object
    const { text, events } = await server.runWorkflow({ definition: document, prompt: 'quiet' });
    const written = events.find(({ type, body }) => type === 'node-finished' && body['nodeId'] === 'report');
    expect(JSON.parse(String(written?.body['output']))).toEqual({
      content: 'written',
      artifacts: [
        { name: 'report.txt', mime: 'text/plain', hash: expect.stringMatching(/^[0-9a-f]{64}$/), bytes: 5 },
        { name: 'report.html', mime: 'text/html', error: expect.objectContaining({ code: 'unsupported_media_type' }) },
      ],
    });
    expect(JSON.parse(text)).toEqual({ text: 'QUIET', name: 'copy.txt', canWrite: false });
  });

  it('fails the node run without a retry if the data or the output does not match its schema', async () => {
    const refused = await run('acme.points', { words: '{{input}}' });
    expect(refused.status).toBe('failed');
    expect(finishedNode(refused)?.['error']).toEqual({
      code: 'VALIDATION',
      message: 'The data is not valid for "acme.points": "words" must be array',
      retryable: false,
    });
    const tooHigh = await run('acme.points', { words: ['fox'], factor: 101 });
    expect(finishedNode(tooHigh)?.['error']).toMatchObject({
      message: 'The output of "acme.points" is not valid: "score" must be <= 100',
    });
  });

  it('retries a failed attempt with the same key, by the retry settings of the plugin or the workflow', async () => {
    expect((await run('acme.flaky', { fails: 2 })).text).toBe('{"attempt":3}');
    const errorHandling = { retry: { maxRetries: 1, baseDelay: 1 } };
    const failed = finishedNode(await run('acme.flaky', { fails: 2, errorHandling }));
    expect(failed?.['error']).toMatchObject({ code: 'UNKNOWN', message: 'busy, attempt 2 of 2' });
  });

  it.each([
    ['code', 'acme.slow'],
    ['schema', 'acme.endless'],
  ])('aborts an attempt whose %s never finishes at its timeout, and takes the `error` edge', async (_part, type) => {
    const errorHandling = { mode: 'branch', retry: { maxRetries: 5, baseDelay: 1 } };
    const job = await server.runWorkflow({
      definition: definition(type, { errorHandling }, ['n:error > failed']),
      prompt: 'go',
    });
    expect(job.status).toBe('completed');
    expect(finishedNode(job)?.['error']).toMatchObject({ code: 'TIMEOUT', message: 'Node timed out after 50ms' });
  });

  it('fails validation for invalid data and for a type that no plugin defines', async () => {
    const issuesOf = async (type: string, data: object) => {
      const check = `query ($definition: JSON!) { validateWorkflow(definition: $definition) { errors { code path message } } }`;
      const { validateWorkflow } = await server.graphql(check, { definition: definition(type, data) });
      return (validateWorkflow as { errors: unknown }).errors;
    };
    expect(await issuesOf('acme.points', { words: [], factor: 'many' })).toEqual([
      {
        code: 'DATA_VALIDATION_ERROR',
        path: '/nodes/1/data',
        message: expect.stringContaining('The data of node "n" is not valid for "acme.points": "words" must NOT have'),
      },
    ]);
    expect(await issuesOf('other.score', {})).toEqual([
      {
        code: 'UNKNOWN_NODE_TYPE',
        path: '/nodes/1/type',
        message:
          'Node "n" has the type "other.score", which no plugin of this server defines. Install the plugin that defines the nodes of "other".',
      },
    ]);
  });

  it('runs the node of docs/plugins.md', async () => {
    const node = JSON.parse(documentExample('docs/plugins.md', 'node-use')) as { type: string; data: object };
    expect((await run(node.type, node.data)).text).toBe('{"score":1}');
  });

  it('appears in workflowNodeTypes with its schema, title and icon', async () => {
    const list = documentExample('docs/plugins.md', 'node-types');
    const { workflowNodeTypes } = (await server.graphql(list)) as { workflowNodeTypes: readonly { type: string }[] };
    const [start] = workflowNodeTypes;
    expect(start).toMatchObject({ type: 'start', title: 'Start', plugin: null, inputSchema: { properties: {} } });
    expect(workflowNodeTypes.find(({ type }) => type === 'acme.points')).toMatchObject({
      ...{
        title: 'Score',
        description: 'Scores a text.',
        icon: 'star',
        plugin: 'acme',
        outputHandles: ['output', 'error'],
      },
      inputSchema: { type: 'object', required: ['words'], properties: { factor: { default: 2 } } },
    });
  });
});

describe('a node of a plugin whose worker was killed', () => {
  const killed = async (type: string) => {
    const [file, release] = [join(folder, `${type}.log`), join(folder, `${type}.release`)];
    const job = await server.startWorkflow({ definition: definition(type, { file, release }), prompt: 'go' });
    await untilWritten(file);
    await server.kill();
    appendFileSync(release, '');
    await server.restart();
    return { job, attempts: () => readFileSync(file, 'utf8').trim().split('\n') };
  };

  it('runs again with the same key if it is idempotent', async () => {
    const { job, attempts } = await killed('acme.idempotent');
    expect(await server.finished(job)).toMatchObject({ status: 'completed', text: 'attempt 2' });
    expect(attempts()).toEqual([`1 ${job}:2`, `2 ${job}:2`]);
  });

  it('asks a person before it runs again if its effect is once', async () => {
    const { job, attempts } = await killed('acme.once');
    const { id, kind, title, request } = await requestOf(job);
    expect({ kind, title }).toEqual({ kind: 'UNKNOWN_OUTCOME', title: 'Did "n" happen?' });
    expect(request).toMatchObject({ tool: 'acme.once', argumentsPreview: expect.stringContaining('acme.once.log') });
    expect(attempts()).toHaveLength(1);
    await decide(id, { decision: 'HAPPENED', result: 'it did' });
    expect(await server.finished(job)).toMatchObject({ status: 'completed', text: 'it did' });
    expect(attempts()).toHaveLength(1);
  });
});

describe('a workflow job without the plugin of a node', () => {
  const withoutPlugin = async () => {
    const [file, release] = [join(folder, 'gone.log'), join(folder, 'gone.release')];
    rmSync(file, { force: true });
    rmSync(release, { force: true });
    const input = { definition: definition('acme.idempotent', { file, release }), prompt: 'go' };
    const job = await server.startWorkflow(input);
    await untilWritten(file);
    await server.kill();
    rmSync(join(folder, 'plugins/acme.ts'));
    await server.restart();
    return { job, release, request: await requestOf(job) };
  };
  const withPlugin = async () => {
    write('plugins/acme.ts', plugin);
    await server.restart();
  };

  it('waits, and fails the node when a member gives up', async () => {
    const { job, request } = await withoutPlugin();
    expect(request).toMatchObject({
      ...{ kind: 'PLUGIN_MISSING', title: 'The plugin of "n" is missing' },
      request: { type: 'acme.idempotent', decisions: ['retry', 'give_up'], reason: expect.stringContaining('"acme"') },
    });
    await decide(request.id, { decision: 'GIVE_UP' });
    const ended = await server.finished(job);
    expect(ended.status).toBe('failed');
    expect(finishedNode(ended)?.['error']).toMatchObject({
      message: expect.stringContaining('A member chose to stop waiting for it.'),
    });
    await withPlugin();
  });

  it('looks for the plugin again when its timer is due, and completes once the plugin is back', async () => {
    const due = async (id: string) => {
      const past = `UPDATE interrupt SET expires_at = clock_timestamp() - interval '1 s' WHERE id = $1`;
      await database.postgres.workerPool.query(past, [id]);
      await announceDue(database);
    };
    const { job, request, release } = await withoutPlugin();
    await due(request.id);
    const next = await eventually('the job waits again', async () =>
      (await requestsOf(job)).find(({ id }) => id !== request.id),
    );
    expect(next).toMatchObject({ kind: 'PLUGIN_MISSING', request: { waits: 1 } });
    appendFileSync(release, '');
    await withPlugin();
    await due(next.id);
    expect(await server.finished(job)).toMatchObject({ status: 'completed', text: 'attempt 2' });
  });

  it('waits again after a retry without the plugin, and completes once the plugin is back', async () => {
    const { job, request, release } = await withoutPlugin();
    await decide(request.id, { decision: 'RETRY' });
    const next = await eventually('the job waits again', async () =>
      (await requestsOf(job)).find(({ id }) => id !== request.id),
    );
    expect(next.kind).toBe('PLUGIN_MISSING');
    appendFileSync(release, '');
    await withPlugin();
    await decide(next.id, { decision: 'RETRY' });
    expect(await server.finished(job)).toMatchObject({ status: 'completed', text: 'attempt 2' });
  });
});
