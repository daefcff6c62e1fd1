import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { FinishedJob, TestServer } from '@nightshift/plugin/testing';

import { documentExample } from '../harness/document-example.js';
import { eventually } from '../harness/eventually.js';
import { startPluginServer } from '../harness/plugin-server.js';

const plugin = (runs: string) => `import { appendFileSync } from 'node:fs';
import { defineHook, definePlugin, defineTool } from '@nightshift/plugin';

const pay = defineTool({
  name: 'pay', description: 'Pays.', effect: 'once', allowEdit: true,
  input: { type: 'object', properties: { amount: { type: 'number', maximum: 5000 } }, required: ['amount'] },
  execute: ({ amount }) => ({ paid: amount, iban: 'PT50-1' }),
});
const look = defineTool({
  name: 'look', description: 'Looks.', effect: 'pure', input: { type: 'object' }, execute: () => 'iban PT50-1',
});
const said = ({ messages }) => String(messages.findLast(({ role }) => role === 'user')?.content);

const start = defineHook({
  on: 'beforeJobStart', name: 'start-guard', match: 'kind == "chat"',
  run: ({ input }) => {
    const text = input.messages.at(-1)?.content;
    if (text === 'forbidden') return { deny: 'Not on Sundays.' };
    if (text === 'widen') return { input: { ...input, tools: ['*'] } };
    if (text.includes('4711')) return { input: { ...input, messages: [{ role: 'user', content: text.replace('4711', '****') }] } };
  },
});
const before = defineHook({
  on: 'beforeModelCall', name: 'model-guard',
  run: (event) => {
    const text = said(event);
    if (text === 'answer') return { answer: 'From the hook.' };
    if (text === 'deny') return { deny: 'no budget' };
    if (text === 'throw') throw new Error('broken');
    if (text === 'change') return {
      messages: [{ role: 'system', content: 'Be kind.' }, ...event.messages], parameters: { temperature: 0 },
      tools: event.tools.filter(({ name }) => name !== 'pay'), reason: 'rules',
    };
  },
});
const closed = defineHook({
  on: 'beforeModelCall', name: 'closed', failure: 'closed', timeoutMs: 100,
  match: 'messages.exists(m, m.content == "hang")', run: () => new Promise(() => undefined),
});
const after = defineHook({
  on: 'afterModelCall', name: 'redact',
  run: ({ text, toolCalls }) => {
    if (text.startsWith('rude')) return { restart: 'It was rude.' };
    if (text.includes('4711')) return { text: text.replaceAll('4711', '****'), reason: 'a number' };
    const dropped = toolCalls.filter(({ arguments: text }) => text.includes('666'));
    return { dropCalls: dropped.map(({ callId }) => callId) };
  },
});
const guard = defineHook({
  on: 'beforeToolCall', name: 'pay-guard', match: { tool: 'pay' },
  run: ({ arguments: { amount }, approval }) => {
    appendFileSync(${JSON.stringify(runs)}, amount + ' ' + approval + '\\n');
    if (amount === 1) return { deny: 'too little' };
    if (amount === 2) return { result: { paid: 'nothing' } };
    if (amount === 3) return { arguments: { amount: 30 }, reason: 'rounded' };
    if (amount === 4) return { arguments: { amount: 9000 } };
    if (amount === 5) return { arguments: { amount: 50 }, requireApproval: 'a test' };
  },
});
const result = defineHook({
  on: 'afterToolCall', name: 'no-iban', match: 'result != null && result.contains("iban")',
  run: ({ tool, result }) => {
    appendFileSync(${JSON.stringify(runs)}, 'after ' + tool + '\\n');
    return tool === 'look' ? { error: 'withheld' } : { result: result.replace('PT50-1', '…') };
  },
});
export default definePlugin({ name: 'acme', version: '1', tools: [pay, look], hooks: [start, before, closed, after, guard, result] });
`;

let folder: string;
let runs: string;
let server: TestServer;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'nightshift-hooks-'));
  runs = join(folder, 'runs.txt');
  mkdirSync(join(folder, 'plugins'));
  writeFileSync(join(folder, 'plugins/acme.ts'), plugin(runs));
  writeFileSync(join(folder, 'plugins/guards.ts'), documentExample('docs/plugins.md', 'hook'));
  server = await startPluginServer(folder);
});
beforeEach(() => {
  writeFileSync(runs, '');
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

const tools = ['pay', 'look'];
const ran = () => readFileSync(runs, 'utf8').trim().split('\n');
const bodies = ({ events }: FinishedJob, type: string) =>
  events.flatMap((event) => (event.type === type ? [event.body] : []));
const applied = (job: FinishedJob) => bodies(job, 'hook-applied').map(({ hook, what, reason }) => [hook, what, reason]);
const shown = (job: FinishedJob) => bodies(job, 'text-delta').map(({ text }) => text);

/** How the one call of a job ended. */
async function pay(amount: number): Promise<{ job: FinishedJob; call: Readonly<Record<string, unknown>> }> {
  server.model.reply([{ name: 'pay', arguments: { amount } }], 'done');
  const job = await server.run({ message: 'Pay', tools });
  expect(job.status).toBe('completed');
  const calls = job.events.filter(({ type }) => type.startsWith('tool-call'));
  return { job, call: calls.at(-1)?.body['call'] as Readonly<Record<string, unknown>> }; // PROTOCOL.md
}

interface OpenRequest {
  readonly id: string;
  readonly jobId: string;
  readonly request: Readonly<Record<string, unknown>>;
}

/** The open request of a job. */
async function openRequest(jobId: string): Promise<OpenRequest> {
  const query = '{ interrupts { nodes { id jobId request } } }';
  return eventually('the job asks', async () => {
    const { interrupts } = (await server.graphql(query)) as { readonly interrupts: { readonly nodes: OpenRequest[] } }; // the query selects this field
    return interrupts.nodes.find((request) => request.jobId === jobId);
  });
}

describe('hooks of starts', () => {
  it('reject a start with a reason and store no job', async () => {
    await expect(server.start({ message: 'forbidden' })).rejects.toThrow('Not on Sundays.');
  });

  it('change the message of the user before it is stored', async () => {
    server.model.reply('fine');
    const job = await server.run({ message: 'I am 4711', tools });
    expect(server.model.requests.at(-1)?.messages.at(-1)).toMatchObject({ content: 'I am ****' });
    expect(bodies(job, 'job-queued')[0]?.['appliedHooks']).toEqual([
      { hook: 'start-guard', on: 'beforeJobStart', what: ['input'], reason: '' },
    ]);
    expect(JSON.stringify(await server.graphql('{ threads { nodes { title } } }'))).not.toContain('4711');
  });

  it('do not add tools to a job', async () => {
    server.model.reply('fine');
    await server.run({ message: 'widen' });
    expect(server.model.requests.at(-1)?.tools).toBeUndefined();
  });
});

describe('hooks of model calls', () => {
  it('respond instead of the model', async () => {
    const asked = server.model.requests.length;
    const job = await server.run({ message: 'answer', tools });
    expect([job.status, job.text, server.model.requests.length]).toEqual(['completed', 'From the hook.', asked]);
    expect(applied(job)).toEqual([['model-guard', ['answer'], '']]);
  });

  it('deny the call, which fails the job', async () => {
    const job = await server.run({ message: 'deny', tools });
    expect(job.status).toBe('failed');
    expect(bodies(job, 'job-finished')[0]).toMatchObject({ error: { code: 'hook_denied', message: 'no budget' } });
    expect(applied(job)).toEqual([['model-guard', ['deny'], 'no budget']]);
  });

  it('change messages, tools and parameters; a call of a removed tool does not run', async () => {
    server.model.reply([{ name: 'pay', arguments: { amount: 6 } }], 'done');
    const job = await server.run({ message: 'change', tools });
    const request = server.model.requests.at(-2);
    expect(request?.messages[0]).toEqual({ role: 'system', content: 'Be kind.' });
    expect([request?.['temperature'], request?.tools?.length]).toEqual([0, 1]);
    expect(applied(job)[0]).toEqual(['model-guard', ['messages', 'tools', 'parameters'], 'rules']);
    expect(bodies(job, 'tool-call')[0]).toMatchObject({ internalStatus: 'denied' });
    expect(ran()).toEqual(['']);
  });

  it('let the job continue when an open hook throws, and fail it when a closed hook times out', async () => {
    server.model.reply('fine');
    expect(await server.run({ message: 'throw', tools })).toMatchObject({ status: 'completed', text: 'fine' });
    const job = await server.run({ message: 'hang', tools });
    expect(bodies(job, 'job-finished')[0]).toMatchObject({ error: { code: 'hook_failed' } });
    expect(applied(job)).toEqual([['closed', ['hook_failed'], 'it did not return within 100 ms']]);
  });

  it('change text before viewers see it, and drop calls', async () => {
    server.model.reply('Your number is 4711.');
    const job = await server.run({ message: 'Number?', tools });
    expect([job.text, shown(job)]).toEqual(['Your number is ****.', ['Your number is ****.']]);
    expect(applied(job)).toEqual([['redact', ['text'], 'a number']]);
    server.model.reply([{ name: 'pay', arguments: { amount: 666 } }]);
    const dropped = await server.run({ message: 'Pay', tools });
    expect([dropped.status, bodies(dropped, 'tool-call')]).toEqual(['completed', []]);
    expect(applied(dropped)).toEqual([['redact', ['dropCalls'], '']]);
  });

  it('restart a round once, and send the model the reason', async () => {
    server.model.reply('rude', 'kind');
    const job = await server.run({ message: 'Hello', tools });
    expect([job.text, shown(job)]).toEqual(['kind', ['kind']]);
    expect(server.model.requests.at(-1)?.messages.at(-1)?.['content']).toContain('It was rude.');
    server.model.reply('rude 1', 'rude 2');
    expect(await server.run({ message: 'Hello', tools })).toMatchObject({ status: 'completed', text: 'rude 2' });
  });
});

describe('hooks of tool calls', () => {
  it('deny a call with a reason that the model reads', async () => {
    const { job, call } = await pay(1);
    expect(call).toMatchObject({ status: 'skipped', error: 'too little' });
    expect(JSON.stringify(server.model.requests.at(-1)?.messages.at(-1))).toContain('too little');
    expect(applied(job)).toEqual([['pay-guard', ['deny'], 'too little']]);
  });

  it('complete a call without running its tool', async () => {
    const { job, call } = await pay(2);
    expect(call).toMatchObject({ status: 'complete', result: '{"paid":"nothing"}' });
    expect(applied(job)).toEqual([['pay-guard', ['result'], '']]);
  });

  it('change the arguments that run, and the result that is stored', async () => {
    const { job, call } = await pay(3);
    expect(call).toMatchObject({ args: '{"amount":30}', result: '{"paid":30,"iban":"…"}' });
    expect(applied(job)).toEqual([
      ['pay-guard', ['arguments'], 'rounded'],
      ['no-iban', ['result'], ''],
    ]);
    expect(JSON.stringify(server.model.requests.at(-1)?.messages)).not.toContain('PT50-1');
  });

  it('keep the original arguments when a changed value is invalid', async () => {
    expect((await pay(4)).call).toMatchObject({ args: '{"amount":4}', status: 'complete' });
  });

  it('deny calls and ask for approval as in the example of docs/plugins.md', async () => {
    const { call } = await pay(11_000);
    expect(call).toMatchObject({ error: 'Payments above 10,000 need a contract.' });
  });

  it('replace a result by an error', async () => {
    server.model.reply([{ name: 'look', arguments: {} }], 'done');
    const job = await server.run({ message: 'Look', tools });
    expect(bodies(job, 'tool-call-updated').at(-1)).toMatchObject({ internalStatus: 'error' });
    expect(JSON.stringify(job.events)).not.toContain('PT50-1');
  });

  it('ask for approval of the changed arguments, and do not run again after a crash', async () => {
    server.model.reply([{ name: 'pay', arguments: { amount: 5 } }], 'done');
    const jobId = await server.start({ message: 'Pay', tools });
    const request = await openRequest(jobId);
    expect(JSON.stringify(request)).toContain('50');
    await server.kill();
    await server.restart();
    const approve = `mutation ($input: ResolveInterruptInput!) { resolveInterrupt(input: $input) { userErrors { message } } }`;
    const { argumentsHash } = request.request;
    await server.graphql(approve, { input: { id: request.id, decision: 'APPROVE', argumentsHash } });
    const job = await server.finished(jobId);
    expect(job.status).toBe('completed');
    expect(ran()).toEqual(['5 none', 'after pay']);
    expect(applied(job)).toEqual([
      ['pay-guard', ['arguments', 'requireApproval'], 'a test'],
      ['no-iban', ['result'], ''],
    ]);
    expect(JSON.stringify(job.events)).toContain(String.raw`{\"paid\":50,`);
  });

  /** The call of a job whose approver has edited the amount. */
  const edited = async (amount: number) => {
    server.model.reply([{ name: 'pay', arguments: { amount: 5 } }], 'done');
    const jobId = await server.start({ message: 'Pay', tools });
    const { id, request } = await openRequest(jobId);
    const approve = `mutation ($input: ResolveInterruptInput!) { resolveInterrupt(input: $input) { userErrors { message } } }`;
    const { argumentsHash } = request;
    const answer = { id, decision: 'APPROVE', argumentsHash, arguments: { amount } };
    expect(await server.graphql(approve, { input: answer })).toEqual({ resolveInterrupt: { userErrors: [] } });
    const job = await server.finished(jobId);
    expect(job.status).toBe('completed');
    return { job, call: bodies(job, 'tool-call-updated').at(-1) };
  };

  it('run an approved call with edited arguments that they let pass', async () => {
    const { job, call } = await edited(60);
    expect(call).toMatchObject({ internalStatus: 'completed', call: { args: '{"amount":60}' } });
    expect(ran()).toEqual(['5 none', '60 approved', 'after pay']);
    expect(applied(job).map(([hook]) => hook)).toEqual(['pay-guard', 'no-iban']);
  });

  it.each([
    [1, 'too little', 'deny'],
    [2, 'The hook "pay-guard" does not accept the edited arguments.', 'result'],
    [3, 'The hook "pay-guard" does not accept the edited arguments.', 'arguments'],
  ])('deny an approved call that they would not let run with the edited amount %d', async (amount, error, what) => {
    const { job, call } = await edited(amount);
    expect(call).toMatchObject({ internalStatus: 'denied', call: { error } });
    expect(ran()).toEqual(['5 none', `${amount} approved`]);
    expect(applied(job).map(([hook, members]) => [hook, members])).toEqual([
      ['pay-guard', ['arguments', 'requireApproval']],
      ['pay-guard', [what]],
    ]);
  });
});
