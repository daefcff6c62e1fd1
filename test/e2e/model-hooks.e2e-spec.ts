import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestServer, type FinishedJob, type TestServer } from '@nightshift/plugin/testing';

import { eventually } from '../harness/eventually.js';
import { type NodeSketch, workflowDocument } from '../harness/workflow-document.js';

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
  server = await createTestServer({ server: process.cwd(), workingDirectory: folder });
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
const applied = (job: FinishedJob) => bodies(job, 'hook-applied').map(({ hook, what, reason }) => [hook, what, reason]);

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
  ])('fail an agent without a retry for the input "%s"', async (prompt, error, change) => {
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
    await eventually('the tool runs', () => (existsSync(join(folder, 'hang.log')) ? true : undefined));
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
