import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createTestServer, type FinishedJob, type TestServer } from '@nightshift/plugin/testing';

import { eventually } from '../harness/eventually.js';
import { type NodeSketch, workflowDocument } from '../harness/workflow-document.js';

/** The hooks log their runs. The prompt selects what they do to the node `n`; the node `acme.hang` waits for a file. */
const plugin = (folder: string) => `import { appendFileSync, existsSync } from 'node:fs';
import { defineHook, defineNode, definePlugin } from '@nightshift/plugin';
import { z } from 'zod';

const folder = ${JSON.stringify(folder)};
const log = (name, { node, kind, workflow, userId }) =>
  appendFileSync(folder + '/runs.log', [name, node.id, node.type, kind, typeof workflow, typeof userId].join(' ') + '\\n');

const before = defineHook({
  on: 'beforeNode', name: 'before', match: 'node.id == "n"', failure: 'closed',
  run(event) {
    log('before', event);
    const { input } = event;
    if (input.includes('4711')) return { input: input.replace('4711', '****'), reason: 'a number' };
    if (input === 'skip') return { skip: 'not today' };
    if (input === 'fail') return { fail: 'not allowed' };
    if (input === 'throw') throw new Error('broken');
    if (input === 'object') return { input: { text: 'hello' } };
  },
});
const after = defineHook({
  on: 'afterNode', name: 'after', match: 'node.id == "n"',
  run(event) {
    log('after', event);
    const { output } = event;
    if (output.includes('secret')) return { output: output.replace('secret', '…') };
    if (output.includes('rude')) return { fail: 'a rude text' };
    if (output.includes('crash')) throw new Error('broken');
  },
});
const echo = defineNode({ type: 'acme.echo', title: 'Echo', effect: 'pure', input: z.object({}), run: ({ input }) => 'read ' + input });
const hang = defineNode({
  type: 'acme.hang', title: 'Hang', effect: 'idempotent', input: z.object({}),
  async run({ input, attempt }) {
    appendFileSync(folder + '/hang.log', attempt + '\\n');
    while (!existsSync(folder + '/go')) await new Promise((resolve) => setTimeout(resolve, 20));
    return 'read ' + input;
  },
});
export default definePlugin({ name: 'acme', version: '1', nodes: [echo, hang], hooks: [before, after] });
`;

let folder: string;
let server: TestServer;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'nightshift-node-hooks-'));
  mkdirSync(join(folder, 'plugins'));
  writeFileSync(join(folder, 'plugins/acme.ts'), plugin(folder));
  server = await createTestServer({ server: process.cwd(), workingDirectory: folder });
});
beforeEach(() => {
  writeFileSync(join(folder, 'runs.log'), '');
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

let workflows = 0;
/** A workflow of the node `n`, and an output after its `error` edge. */
const definition = (n: NodeSketch, data: object = {}) => {
  workflows += 1;
  const [type, own] = typeof n === 'string' ? [n, {}] : n;
  return workflowDocument(
    { start: 'start', n: [type, { ...own, ...data }], failed: ['output', { format: 'text' }] },
    ['start > n', 'n:error > failed'],
    { name: `node hooks ${workflows}`, id: `node-hooks-${workflows}` },
  ) as unknown as Record<string, unknown>; // a document is an object
};
const echo: NodeSketch = ['acme.echo', {}];
const run = (prompt: string, n: NodeSketch = echo, data: object = {}) =>
  server.runWorkflow({ definition: definition(n, data), prompt });

const runs = () =>
  readFileSync(join(folder, 'runs.log'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(' ')[0]);
const applied = ({ events }: FinishedJob) =>
  events.flatMap(({ type, body }) =>
    type === 'hook-applied' ? [[body['hook'], body['what'], body['reason'], body['nodeId']]] : [],
  );
const node = ({ events }: FinishedJob) =>
  events.find(({ type, body }) => type === 'node-finished' && body['nodeId'] === 'n')?.body;

describe('hooks of nodes', () => {
  it('change the input and the output of a node of a plugin', async () => {
    const job = await run('secret 4711');
    expect([job.status, job.text]).toEqual(['completed', 'read … ****']);
    expect(node(job)).toMatchObject({ output: 'read … ****' });
    expect(applied(job)).toEqual([
      ['before', ['input'], 'a number', 'n'],
      ['after', ['output'], '', 'n'],
    ]);
    expect(readFileSync(join(folder, 'runs.log'), 'utf8').trim().split('\n')).toEqual([
      'before n acme.echo workflow string string',
      'after n acme.echo workflow string string',
    ]);
  });

  it('change the input and the output of an agent before later nodes and the output of the job', async () => {
    server.model.reply('the secret');
    const job = await run('I am 4711', ['agent', { prompt: 'Work.' }]);
    expect([job.status, job.text]).toEqual(['completed', 'the …']);
    expect(server.model.requests.at(-1)?.messages.at(-1)).toMatchObject({ content: 'I am ****' });
  });

  it('run for nodes without outside effects, and take JSON as input', async () => {
    const job = await run('object', ['transform', { expression: 'input' }]);
    expect(job.text).toContain('hello');
    expect(runs()).toEqual(['before', 'after']);
  });

  it('record nothing if they change nothing', async () => {
    const job = await run('plain');
    expect([job.text, applied(job), runs()]).toEqual(['read plain', [], ['before', 'after']]);
  });

  it('skip a node, whose input is passed on', async () => {
    const job = await run('skip');
    expect([job.status, job.text]).toEqual(['completed', 'skip']);
    expect(node(job)).toMatchObject({ status: 'completed', output: 'Skipped by a hook: not today' });
    expect(applied(job)).toEqual([['before', ['skip'], 'not today', 'n']]);
    expect(runs()).toEqual(['before']);
  });

  it.each([
    ['fail', 'hook_denied', 'not allowed'],
    ['throw', 'hook_failed', 'The hook "before" failed.'],
    ['rude', 'hook_denied', 'a rude text'],
  ])('fail a node without a retry for the input "%s"', async (prompt, code, message) => {
    const job = await run(prompt, echo, { errorHandling: { mode: 'stop', retry: { maxRetries: 3, baseDelay: 1 } } });
    expect(job.status).toBe('failed');
    expect(node(job)).toMatchObject({ status: 'error', error: { code, message } });
    expect(job.events.at(-1)?.body).toMatchObject({ error: { code } });
    expect(runs().filter((name) => name === 'before')).toHaveLength(1);
  });

  it('let the workflow continue on the `error` edge of a node that they failed', async () => {
    const job = await run('fail', echo, { errorHandling: { mode: 'branch' } });
    expect(job.status).toBe('completed');
    expect(node(job)).toMatchObject({ status: 'error', error: { message: 'not allowed' } });
  });

  it('keep the output if an open hook throws', async () => {
    expect((await run('crash')).text).toBe('read crash');
  });
});

describe('hooks of nodes after a crash', () => {
  it('do not run again before a node that waits for a person, and keep the changed input', async () => {
    const job = await server.startWorkflow({
      definition: definition(['approval', { prompt: 'May it?' }]),
      prompt: 'my 4711',
    });
    const query = `query ($id: ID!) { interrupts(filter: { jobId: { eq: $id }, status: { eq: OPEN } }) { nodes { id } } }`;
    const { id } = await eventually('the job waits', async () => {
      const { interrupts } = (await server.graphql(query, { id: job })) as { interrupts: { nodes: { id: string }[] } }; // by the query
      return interrupts.nodes[0];
    });
    await server.kill();
    await server.restart();
    await server.graphql(
      `mutation ($input: ResolveInterruptInput!) { resolveInterrupt(input: $input) { userErrors { message } } }`,
      { input: { id, action: 'APPROVE' } },
    );
    const ended = await server.finished(job);
    expect([ended.status, ended.text]).toEqual(['completed', 'my ****']);
    expect(runs()).toEqual(['before', 'after']);
    expect(applied(ended)).toEqual([['before', ['input'], 'a number', 'n']]);
  });

  it('do not run again before a node of a plugin that runs again', async () => {
    const job = await server.startWorkflow({ definition: definition(['acme.hang', {}]), prompt: 'my 4711' });
    await eventually('the node runs', () => (existsSync(join(folder, 'hang.log')) ? true : undefined));
    await server.kill();
    appendFileSync(join(folder, 'go'), '');
    await server.restart();
    const ended = await server.finished(job);
    expect([ended.status, ended.text]).toEqual(['completed', 'read my ****']);
    expect(readFileSync(join(folder, 'hang.log'), 'utf8')).toBe('1\n2\n');
    expect(runs()).toEqual(['before', 'after']);
    expect(applied(ended)).toEqual([['before', ['input'], 'a number', 'n']]);
  });
});
