import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { FinishedJob, TestServer } from '@nightshift/plugin/testing';

import { eventually, untilWritten } from '../harness/eventually.js';
import { startPluginServer } from '../harness/plugin-server.js';
import { workflowDocument } from '../harness/workflow-document.js';

/** Each tool returns the secret. The hook logs its runs, and waits while the file `hold-` with the argument `n` or `input` exists. */
const plugin = (folder: string) => `import { appendFileSync, existsSync } from 'node:fs';
import { defineHook, definePlugin, defineTool } from '@nightshift/plugin';

const folder = ${JSON.stringify(folder)};
const tool = (name, extra) => defineTool({
  name, description: name, effect: 'idempotent', input: { type: 'object' }, execute: () => 'iban PT50-1', ...extra,
});
const lost = tool('lost', {
  effect: 'once', onUnknown: 'verify', verify: async () => ({ outcome: 'happened', result: 'iban PT50-1' }),
  async execute() {
    appendFileSync(folder + '/lost.log', 'started');
    await new Promise(() => undefined);
  },
});
const redact = defineHook({
  on: 'afterToolCall', name: 'no-iban', timeoutMs: 60_000, match: 'result != null && result.contains("PT50")',
  async run({ tool, result, kind, agent, userId, labels, arguments: given }) {
    appendFileSync(folder + '/runs.log', [tool, kind, agent, typeof userId, JSON.stringify(given), ...Object.values(labels)].join(' ') + '\\n');
    while (existsSync(folder + '/hold-' + (given.n ?? given.input))) await new Promise((resolve) => setTimeout(resolve, 20));
    return { result: result.replace('PT50-1', '…'), reason: 'an account' };
  },
});
const fail = defineHook({
  on: 'afterToolCall', name: 'closed', failure: 'closed', match: 'result == "throw"',
  run() { throw new Error('broken'); },
});
export default definePlugin({
  name: 'acme', version: '1', hooks: [redact, fail],
  tools: [tool('plain'), tool('isolated', { isolation: 'queue' }), tool('broken', { isolation: 'queue', execute: () => 'throw' }), lost],
});
`;

const SECRET = 'PT50-1';
let folder: string;
let server: TestServer;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'nightshift-result-hooks-'));
  mkdirSync(join(folder, 'plugins'));
  writeFileSync(join(folder, 'plugins/acme.ts'), plugin(folder));
  server = await startPluginServer(folder);
  await mutate(`mutation ($input: CreateAgentInput!) { createAgent(input: $input) { userErrors { message } } }`, {
    ...{ name: 'Clerk', slug: 'clerk', tools: ['isolated'] },
  });
  await offerWorkflow();
});
beforeEach(() => {
  writeFileSync(join(folder, 'runs.log'), '');
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

const runs = () => readFileSync(join(folder, 'runs.log'), 'utf8').trim().split('\n');
const bodies = ({ events }: FinishedJob, type: string) =>
  events.flatMap((event) => (event.type === type ? [event.body] : []));
const change = { hook: 'no-iban', on: 'afterToolCall', what: ['result'], reason: 'an account' };

/** Offers the tool `workflow.accounts`. */
async function offerWorkflow(): Promise<void> {
  const definition = workflowDocument({ start: 'start', a: 'agent' }, ['start > a'], {
    name: 'accounts',
    id: 'accounts',
  });
  const { workflow } = await mutate(
    `mutation ($input: ImportWorkflowInput!) { importWorkflow(input: $input) { workflow { id } userErrors { message } } }`,
    { definition },
  );
  const { id } = workflow as { id: string };
  await mutate(
    `mutation ($input: PublishWorkflowInput!) { publishWorkflow(input: $input) { userErrors { message } } }`,
    { id },
  );
  await mutate(
    `mutation ($input: OfferWorkflowInput!) { offerWorkflowAsTool(input: $input) { userErrors { message } } }`,
    {
      ...{ id, offered: true },
    },
  );
}

/** Expects that the result of the only call was filtered, once, before viewers and the model got it. */
function expectFiltered(job: FinishedJob, result = 'iban …'): void {
  expect(job.status).toBe('completed');
  expect(bodies(job, 'tool-call-updated').at(-1)).toMatchObject({ call: { result } });
  expect(bodies(job, 'hook-applied')).toEqual([expect.objectContaining(change)]);
  expect(JSON.stringify(job.events)).not.toContain(SECRET);
  expect(JSON.stringify(server.model.requests.at(-1)?.messages)).not.toContain(SECRET);
}

/** Runs a chat whose model makes one call. */
function calling(name: string): Promise<FinishedJob> {
  server.model.reply([{ name, arguments: { n: 1 } }], 'done');
  return server.run({ message: 'Go', tools: [name] });
}

async function mutate(mutation: string, input: object): Promise<Readonly<Record<string, unknown>>> {
  const [payload] = Object.values(await server.graphql(mutation, { input })) as Readonly<Record<string, unknown>>[]; // one field
  expect(payload?.['userErrors']).toEqual([]);
  return payload ?? {};
}

interface OpenRequest {
  readonly id: string;
  readonly jobId: string;
  readonly kind: string;
}

async function openRequest(jobId: string): Promise<OpenRequest> {
  const query = `query ($id: ID!) { interrupts(filter: { jobId: { eq: $id }, status: { eq: OPEN } }) { nodes { id jobId kind } } }`;
  return eventually('the job asks', async () => {
    const { interrupts } = (await server.graphql(query, { id: jobId })) as { interrupts: { nodes: OpenRequest[] } }; // the query selects this field
    return interrupts.nodes[0];
  });
}

const resolve = (input: object) =>
  mutate(
    `mutation ($input: ResolveInterruptInput!) { resolveInterrupt(input: $input) { userErrors { message } } }`,
    input,
  );

async function waitingForClient(): Promise<string> {
  server.model.reply([{ name: 'open_file', arguments: { n: 1 } }], 'done');
  const { jobId } = await mutate(
    `mutation ($input: StartChatInput!) { startChat(input: $input) { jobId userErrors { message } } }`,
    { message: 'Open', clientTools: [{ name: 'open_file', parameters: { type: 'object' } }] },
  );
  const status = `query ($id: ID!) { job(id: $id) { status } }`;
  await eventually('the job waits', async () => {
    const { job } = (await server.graphql(status, { id: jobId })) as { job: { status: string } }; // the query selects this field
    return job.status === 'WAITING' ? true : undefined;
  });
  return String(jobId);
}

async function claimed(jobId: string): Promise<object> {
  const callId = await callOf(jobId);
  const { claim } = await mutate(
    `mutation ($input: ClaimClientToolInput!) { claimClientTool(input: $input) { claim { claimToken } userErrors { message } } }`,
    { jobId, callId, deviceId: 'laptop' },
  );
  return { jobId, callId, ...(claim as object) };
}

async function callOf(jobId: string): Promise<string> {
  const { job } = (await server.graphql(`query ($id: ID!) { job(id: $id) { toolCalls { callId } } }`, {
    id: jobId,
  })) as { job: { toolCalls: { callId: string }[] } }; // the query selects this field
  return job.toolCalls[0]?.callId ?? '';
}

const submit = (input: object) =>
  mutate(
    `mutation ($input: SubmitClientToolResultInput!) { submitClientToolResult(input: $input) { accepted userErrors { message } } }`,
    input,
  );

describe('afterToolCall', () => {
  it('filters the result of an isolated tool before viewers and the model get it', async () => {
    expectFiltered(await calling('isolated'));
    expect(runs()).toEqual(['isolated chat  string {"n":1}']);
  });

  it('filters the results of all tools of a workspace that chooses isolation', async () => {
    const update = `mutation ($input: UpdateWorkspaceInput!) { updateWorkspace(input: $input) { userErrors { message } } }`;
    await mutate(update, { toolIsolation: 'QUEUE' });
    expectFiltered(await calling('plain'));
    await mutate(update, { toolIsolation: 'PER_TOOL' });
    expectFiltered(await calling('plain'));
    expect(runs()).toHaveLength(2);
  });

  it('withholds the result of an isolated call if a closed hook fails', async () => {
    const job = await calling('broken');
    expect(bodies(job, 'tool-call-updated').at(-1)).toMatchObject({
      ...{ internalStatus: 'error' },
      call: { error: expect.stringContaining('The hook "closed" failed.') },
    });
    expect(bodies(job, 'hook-applied')).toEqual([expect.objectContaining({ hook: 'closed', what: ['hook_failed'] })]);
  });

  it('filters the result of a sub-job', async () => {
    server.model.reply([{ name: 'workflow.accounts', arguments: { input: 'Hi' } }], `iban ${SECRET}`, 'done');
    const job = await server.run({ message: 'Go', tools: ['workflow.accounts'], labels: { team: 'billing' } });
    expectFiltered(job);
    expect(runs()).toEqual(['workflow.accounts chat  string {"input":"Hi"} billing']);
  });

  it('filters the result of a client tool before it is in an event, and accepts a repeated submission', async () => {
    const jobId = await waitingForClient();
    const claim = await claimed(jobId);
    await Promise.all([1, 2, 3].map(() => submit({ ...claim, result: `iban ${SECRET}` })));
    expectFiltered(await server.finished(jobId));
    await submit({ ...claim, result: `iban ${SECRET}` });
    expect(new Set(runs())).toEqual(new Set(['open_file chat  string {"n":1}']));
  });

  it('filters the result that a client sends with its next /v1 request', async () => {
    const complete = async (messages: readonly object[]) => {
      const response = await fetch(`${server.url}/v1/chat/completions`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${server.key}`,
          'content-type': 'application/json',
          'x-session-id': 'accounts',
        },
        body: JSON.stringify({
          ...{ model: 'clerk', messages },
          tools: [{ type: 'function', function: { name: 'open_file', parameters: { type: 'object' } } }],
        }),
      });
      const { choices } = (await response.json()) as { choices: [{ message: { tool_calls?: { id: string }[] } }] }; // Chat Completions
      return choices[0].message;
    };
    server.model.reply([{ name: 'open_file', arguments: { n: 1 } }], 'done');
    const user = { role: 'user', content: 'Open' };
    const asked = await complete([user]);
    const result = { role: 'tool', tool_call_id: asked.tool_calls?.[0]?.id, content: `iban ${SECRET}` };
    expect(await complete([user, asked, result])).toMatchObject({ content: 'done' });
    expect(JSON.stringify(server.model.requests.at(-1)?.messages)).toContain('iban …');
    expect(JSON.stringify(server.model.requests.at(-1)?.messages)).not.toContain(SECRET);
    expect(runs()).toEqual(['open_file chat Clerk string {"n":1}']);
  });

  it('filters the result of POST /v1/tools/execute', async () => {
    const response = await fetch(`${server.url}/v1/tools/execute`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ agent: 'clerk', tool_name: 'isolated', arguments: { n: 1 } }),
    });
    const text = await response.text();
    expect([response.status, text]).toEqual([200, expect.stringContaining('iban …')]);
    expect(text).not.toContain(SECRET);
    expect(runs()).toEqual(['isolated chat Clerk string {"n":1}']);
  });

  it('filters what a person answers to a call', async () => {
    server.model.reply([{ name: 'ask_person', arguments: { question: 'Which?' } }], 'done');
    const jobId = await server.start({ message: 'Ask', tools: ['ask_person'] });
    const { id } = await openRequest(jobId);
    await resolve({ id, action: 'SUBMIT', data: `iban ${SECRET}` });
    expectFiltered(await server.finished(jobId));
  });
});

const file = (name: string) => join(folder, name);
const runsOnce = () => eventually('the hook runs', () => (runs()[0] === '' ? undefined : true));

describe('afterToolCall while it runs', () => {
  it('delays no isolated call of another job', async () => {
    writeFileSync(file('hold-1'), '');
    server.model.reply([{ name: 'isolated', arguments: { n: 1 } }]);
    const held = await server.start({ message: 'Go', tools: ['isolated'] });
    await runsOnce();
    server.model.reply([{ name: 'isolated', arguments: { n: 2 } }], 'done', 'done');
    expectFiltered(await server.run({ message: 'Go', tools: ['isolated'] }));
    rmSync(file('hold-1'));
    expectFiltered(await server.finished(held));
  });

  it('delays no sub-job of another job', async () => {
    const call = (input: string) => ({ name: 'workflow.accounts', arguments: { input } });
    writeFileSync(file('hold-1'), '');
    server.model.reply([call('1')], `iban ${SECRET}`);
    const held = await server.start({ message: 'Go', tools: ['workflow.accounts'] });
    await runsOnce();
    server.model.reply([call('2')], `iban ${SECRET}`, 'done', 'done');
    expectFiltered(await server.run({ message: 'Go', tools: ['workflow.accounts'] }));
    rmSync(file('hold-1'));
    expectFiltered(await server.finished(held));
    expect(runs()).toHaveLength(2);
  });
});

describe('afterToolCall around a crash', () => {
  it('runs again for an isolated call whose result was not stored when the server was killed', async () => {
    writeFileSync(file('hold-1'), '');
    server.model.reply([{ name: 'isolated', arguments: { n: 1 } }], 'done');
    const jobId = await server.start({ message: 'Go', tools: ['isolated'] });
    await runsOnce();
    await server.kill();
    rmSync(file('hold-1'));
    await server.restart();
    expectFiltered(await server.finished(jobId));
    expect(runs()).toHaveLength(2);
  });

  it('does not run again for an isolated call whose result was stored when the server was killed', async () => {
    server.model.reply(
      [
        { name: 'isolated', arguments: { n: 1 } },
        { name: 'ask_person', arguments: { question: 'Which?' } },
      ],
      'done',
    );
    const jobId = await server.start({ message: 'Go', tools: ['isolated', 'ask_person'] });
    const { id } = await openRequest(jobId);
    await eventually('the call is stored', async () => {
      const { job } = (await server.graphql(`query ($id: ID!) { job(id: $id) { toolCalls { status } } }`, {
        id: jobId,
      })) as {
        job: { toolCalls: { status: string }[] };
      }; // the query selects this field
      return job.toolCalls.some(({ status }) => status === 'COMPLETED') ? true : undefined;
    });
    await server.kill();
    await server.restart();
    await resolve({ id, action: 'SUBMIT', data: 'this one' });
    const job = await server.finished(jobId);
    expect(job.status).toBe('completed');
    expect(bodies(job, 'hook-applied')).toEqual([expect.objectContaining(change)]);
    expect(runs()).toEqual(['isolated chat  string {"n":1}']);
  });

  it('filters the result that `verify` of a tool reports after a crash', async () => {
    server.model.reply([{ name: 'lost', arguments: { n: 1 } }], 'done');
    const jobId = await server.start({ message: 'Go', tools: ['lost'] });
    await untilWritten(file('lost.log'));
    await server.kill();
    await server.restart();
    expectFiltered(await server.finished(jobId));
    expect(runs()).toHaveLength(1);
  });
});
