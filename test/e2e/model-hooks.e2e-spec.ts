import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { FinishedJob, TestServer } from '@nightshift/plugin/testing';

import { eventually, untilWritten } from '../harness/eventually.js';
import { startPluginServer } from '../harness/plugin-server.js';
import { type NodeSketch, workflowDocument } from '../harness/workflow-document.js';

describe('server with hooks of model calls:', () => {
  const plugin = (folder: string) => `import { appendFileSync, existsSync } from 'node:fs';
import { defineHook, definePlugin, defineTool } from '@nightshift/plugin';

const note = defineTool({
  name: 'note', description: 'Notes a text.', effect: 'pure',
  input: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  execute: ({ text }) => ({ length: text.length }),
});
const hang = defineTool({
  name: 'hang', description: 'Waits for a file.', effect: 'idempotent', input: { type: 'object' },
  async execute(_args, { attempt }) {
    appendFileSync(${JSON.stringify(folder)} + '/hang.log', attempt + '\\n');
    while (!existsSync(${JSON.stringify(folder)} + '/go')) await new Promise((resolve) => setTimeout(resolve, 20));
    return 'went';
  },
});
const said = ({ messages }) => String(messages.findLast(({ role }) => role === 'user')?.content);
const before = defineHook({
  on: 'beforeModelCall', name: 'before', failure: 'closed',
  run: (event) => {
    const text = said(event);
    if (text === 'crash') {
      appendFileSync(${JSON.stringify(folder)} + '/rounds.log', 'before ' + event.round + '\\n');
      return { parameters: { temperature: 0 } };
    }
    if (text.includes('deny')) return { deny: 'no budget' };
    if (text.includes('throw')) throw new Error('broken');
    if (text.includes('no-note')) return { tools: event.tools.filter(({ name }) => name !== 'note') };
    if (text.includes('no-tools')) return { tools: [] };
    if (text.includes('4711') && event.round === 0) return { messages: [{ role: 'user', content: 'redacted' }], reason: 'a number' };
  },
});
const choice = defineHook({
  on: 'afterModelCall', name: 'choice',
  run: ({ round, toolCalls, text }) => {
    if (text.includes('4711')) {
      appendFileSync(${JSON.stringify(folder)} + '/rounds.log', 'after ' + round + '\\n');
      return { text: text.replace('4711', '****') };
    }
    if (round === 0 && toolCalls[0]?.arguments.includes('cook')) return { dropCalls: [toolCalls[0].callId], reason: 'not this one' };
  },
});
const veto = defineHook({
  on: 'afterModelCall', name: 'veto', failure: 'closed',
  run: ({ text }) => { if (text === 'veto') throw new Error('broken'); },
});
const secret = async (secrets) => secrets.get('ACME_KEY');
const start = defineHook({
  on: 'beforeJobStart', name: 'start', match: 'kind == "chat" && input.messages[0].content == "insert"',
  run: async ({ input }, { secrets }) =>
    ({ input: { ...input, messages: [{ role: 'user', content: 'The key is ' + await secret(secrets) }] } }),
});
const call = defineHook({
  on: 'beforeToolCall', name: 'call', match: 'tool == "note" && arguments.text == "insert"',
  run: async (_event, { secrets }) => ({ arguments: { text: 'The key is ' + await secret(secrets) } }),
});
export default definePlugin({ name: 'acme', version: '1', tools: [note, hang], secrets: ['ACME_KEY'], hooks: [before, choice, veto, start, call] });
`;

  const SECRET = 'acme-secret-1234567890';
  let folder: string;
  let server: TestServer;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'nightshift-model-hooks-'));
    mkdirSync(join(folder, 'plugins'));
    writeFileSync(join(folder, 'plugins/acme.ts'), plugin(folder));
    server = await startPluginServer(folder);
    const create = `mutation ($input: CreateAgentInput!) { createAgent(input: $input) { userErrors { message } } }`;
    for (const name of ['Clerk', 'Cook']) await server.graphql(create, { input: { name, description: `A ${name}.` } });
    const set = `mutation ($input: SetWorkspaceSecretInput!) { setWorkspaceSecret(input: $input) { userErrors { message } } }`;
    await server.graphql(set, { input: { name: 'ACME_KEY', value: SECRET } });
  });
  afterAll(async () => {
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const bodies = ({ events }: FinishedJob, type: string) =>
    events.flatMap((event) => (event.type === type ? [event.body] : []));
  const applied = (job: FinishedJob) =>
    bodies(job, 'hook-applied').map(({ hook, what, reason }) => [hook, what, reason]);

  let workflows = 0;
  /** A workflow of one agent. */
  function run(prompt: string, agent: object = {}): Promise<FinishedJob> {
    workflows += 1;
    const n: NodeSketch = ['agent', { prompt: 'Work.', tools: ['note'], ...agent }];
    const id = `model-hooks-${workflows}`;
    const definition = workflowDocument({ start: 'start', n }, ['start > n'], { name: id, id });
    return server.runWorkflow({ definition: definition as unknown as Record<string, unknown>, prompt }); // a document is an object
  }
  const retried = { errorHandling: { mode: 'stop', retry: { maxRetries: 3, baseDelay: 1 } } };

  describe('hooks of model calls in a workflow', () => {
    it.each([
      ['deny', { code: 'hook_denied', message: 'no budget' }, ['before', ['deny'], 'no budget']],
      ['throw', { code: 'hook_failed', message: 'The hook "before" failed.' }, ['before', ['hook_failed'], 'broken']],
    ])('fail an agent node at once, despite its retries, for the input "%s"', async (prompt, error, change) => {
      const asked = server.model.requests.length;
      const job = await run(prompt, retried);
      expect(job.status).toBe('failed');
      expect(bodies(job, 'node-finished').find(({ nodeId }) => nodeId === 'n')).toMatchObject({
        error,
      });
      expect(bodies(job, 'hook-applied')).toEqual([expect.objectContaining({ nodeId: 'n', round: 1 })]);
      expect(applied(job)).toEqual([change]);
      expect(server.model.requests.length).toBe(asked);
    });

    it.each([
      ['no-note', 'auto', ['calculate']],
      ['no-tools', undefined, undefined],
    ])('leave no choice of a tool that they removed: %s', async (prompt, choice, tools) => {
      server.model.reply('fine');
      const toolChoice = { type: 'function', function: { name: 'note' } };
      const job = await run(prompt, { tools: ['note', 'calculate'], toolChoice });
      expect(job.status).toBe('completed');
      const request = server.model.requests.at(-1);
      expect(request?.['tool_choice']).toEqual(choice);
      expect(request?.tools?.map((tool) => (tool['function'] as { name: string }).name)).toEqual(tools);
    });
  });

  describe('hooks of the model call that chooses an agent', () => {
    const chosen = (job: FinishedJob) => bodies(job, 'agent-selected')[0];

    it('change its messages, which is recorded with the choice', async () => {
      server.model.reply([{ name: 'select_route', arguments: { route_id: 'clerk', reasoning: 'forms' } }], 'hello');
      const job = await server.run({ message: 'I am 4711', agent: 'auto' });
      expect([job.status, chosen(job)?.['slug']]).toEqual(['completed', 'clerk']);
      expect(server.model.requests.at(-2)?.messages).toEqual([{ role: 'user', content: 'redacted' }]);
      expect(bodies(job, 'hook-applied')).toEqual([
        expect.objectContaining({ hook: 'before', round: 0, reason: 'a number' }),
      ]);
    });

    it('drop its call, so that the default agent is used', async () => {
      server.model.reply([{ name: 'select_route', arguments: { route_id: 'cook', reasoning: 'food' } }], 'hello');
      const job = await server.run({ message: 'Hello', agent: 'auto' });
      expect([job.status, chosen(job)?.['slug'], chosen(job)?.['fallback']]).toEqual(['completed', 'clerk', true]);
      expect(applied(job)).toEqual([['choice', ['dropCalls'], 'not this one']]);
    });

    it('deny its response, whose tokens the job counts', async () => {
      server.model.reply('veto');
      const job = await server.run({ message: 'Hello', agent: 'auto' });
      expect(bodies(job, 'job-finished')[0]).toMatchObject({
        error: { code: 'hook_failed' },
        usage: { promptTokens: 1, completionTokens: 1, totalTokens: 2 },
      });
    });

    it('deny it, which fails the job', async () => {
      const asked = server.model.requests.length;
      const job = await server.run({ message: 'deny', agent: 'auto' });
      expect(bodies(job, 'job-finished')[0]).toMatchObject({ error: { code: 'hook_denied', message: 'no budget' } });
      expect(applied(job)).toEqual([['before', ['deny'], 'no budget']]);
      expect(server.model.requests.length).toBe(asked);
    });
  });

  describe('changes of hooks', () => {
    it('count once for their round: after a kill, its hooks do not run again', async () => {
      server.model.reply([{ name: 'hang', arguments: {} }], 'I have 4711.');
      const jobId = await server.start({ message: 'crash', tools: ['hang'] });
      await untilWritten(join(folder, 'hang.log'));
      await server.kill();
      writeFileSync(join(folder, 'go'), '');
      await server.restart();
      const job = await server.finished(jobId);
      expect([job.status, job.text]).toEqual(['completed', 'I have ****.']);
      expect(readFileSync(join(folder, 'hang.log'), 'utf8')).toBe('1\n2\n');
      expect(readFileSync(join(folder, 'rounds.log'), 'utf8')).toBe('before 1\nbefore 2\nafter 2\n');
      expect(bodies(job, 'hook-applied').map(({ on, round }) => [on, round])).toEqual([
        ['beforeModelCall', 1],
        ['beforeModelCall', 2],
        ['afterModelCall', 2],
      ]);
    });

    it('contain no secrets of the workspace in arguments and inputs', async () => {
      server.model.reply([{ name: 'note', arguments: { text: 'insert' } }], 'done');
      const job = await server.run({ message: 'insert', tools: ['note'] });
      expect(job.status).toBe('completed');
      expect(applied(job)).toEqual([['call', ['arguments'], '']]);
      expect(server.model.requests.at(-2)?.messages.at(-1)).toMatchObject({ content: 'The key is [redacted]' });
      expect(bodies(job, 'tool-call')[0]?.['call']).toMatchObject({ args: '{"text":"The key is [redacted]"}' });
      expect(JSON.stringify(job.events)).not.toContain(SECRET);
    });
  });
});

describe('server with hooks of nodes:', () => {
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
    server = await startPluginServer(folder);
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
        const { interrupts } = (await server.graphql(query, { id: job })) as {
          interrupts: { nodes: { id: string }[] };
        }; // the query selects this field
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
      await untilWritten(join(folder, 'hang.log'));
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
});
