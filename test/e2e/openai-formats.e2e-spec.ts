import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { ApprovalPoliciesService, InterruptsService } from '#approvals';
import { AgentsService } from '#chat';
import { defineTool, ToolRegistry } from '#tools';

import { graphqlMember } from '../harness/graphql-member.js';
import { chunksOf, type CompletionReply, contentOf } from '../harness/openai-client.js';
import { ask, called, type OpenAiStage, openAiStage, plain, result, user, withTools } from '../harness/openai-stage.js';
import { createGate, textChunk, textReply, toolCallReply } from '../harness/scripted-reply.js';
import { smallWorkflow } from '../harness/workflow-documents.js';
import { publish } from '../harness/workflows.js';

const SET_FORMAT = `mutation($format: ToolEventFormat) { updateAgent(input: { id: "helper", toolEventFormat: $format }) {
  agent { toolEventFormat version } userErrors { message } } }`;

let stage: OpenAiStage;

beforeAll(async () => {
  stage = await openAiStage();
  const input = { type: 'object', properties: { to: { type: 'string' } } } as const;
  const execute = () => Promise.resolve('sent');
  stage.test.api.app.get(ToolRegistry).register(defineTool({ name: 'send', description: 'Sends', input, execute }));
  const agent = { name: 'Clerk', instructions: 'Work.', tools: ['add_numbers', 'send'] };
  await stage.test.api.app.get(AgentsService).create(stage.owner.principal, agent);
});
afterEach(() => stage.assertQuiet());
afterAll(() => stage.close());

const streamed = { stream: true } as const;
const clerk = (text: string) => plain(text, { ...streamed, model: 'clerk' });
const add = (id: string, a: number, b: number) => ({ id, name: 'add_numbers', arguments: JSON.stringify({ a, b }) });
const jobOf = ({ headers }: CompletionReply) => String(headers['x-job-id']);
const openWebUi = (chat: string) => ({ 'x-tool-event-format': 'open-webui', 'x-openwebui-chat-id': chat });
const sums = 'Adding.\n<tool id="1" state="start">add_numbers(a=1, b=2)</tool>\n';

/** The log forgets the texts of a job that has ended, as it does with time. */
async function forget(jobId: string): Promise<void> {
  const { workspaceId } = stage.owner.principal;
  await stage.database.postgres.withWorkspaceSql(workspaceId, async (client) => {
    await client.query(`DELETE FROM job_event WHERE job_id = $1 AND type IN ('text-delta', 'reasoning-delta')`, [
      jobId,
    ]);
    await client.query('UPDATE job SET deltas_trimmed = true WHERE id = $1', [jobId]);
  });
}

describe('POST /v1/chat/completions', () => {
  it('returns a whole response of a job that GraphQL can read', async () => {
    stage.model.enqueue(textReply(['Hello ', 'there']));
    const reply = await stage.client.ask(plain('hi'));
    expect(reply.json).toEqual({
      id: expect.stringMatching(/^chatcmpl-[0-9a-f]{12}$/),
      object: 'chat.completion',
      created: expect.any(Number),
      model: 'helper',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Hello there', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
    });
    expect(reply.status).toBe(200);
    const status = await stage.test.call('GET', `/api/jobs/${String(reply.headers['x-job-id'])}/status`, {
      key: stage.owner.key,
    });
    expect(status.body).toMatchObject({ content: 'Hello there' });
  });

  it('streams chunks and nothing else', async () => {
    stage.model.enqueue(textReply(['Hello ', 'there']));
    const reply = await stage.client.ask(plain('hi', { stream: true, stream_options: { include_usage: true } }));
    expect(reply.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      'x-job-id': expect.any(String),
      'x-request-id': expect.any(String),
    });
    expect(reply.text.split('\n\n').filter((line) => !/^(data: |: )/.test(line))).toEqual(['']);
    expect(reply.text.startsWith('data: ')).toBe(true);
    expect(reply.text.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(contentOf(reply.text)).toBe('Hello there');
  });

  it('pauses for tools of the client and continues with their results', async () => {
    stage.model.enqueue(toolCallReply([ask('call_a', 'Rome'), ask('call_b', 'Oslo')], { text: 'Let me see.' }));
    const first = await stage.client.ask(withTools([user('weather?')], { stream: true }));
    const chunks = chunksOf(first.text);
    expect(chunks.slice(-3).map((chunk) => chunk['choices'])).toMatchObject([
      [{ delta: { tool_calls: [{ index: 0, id: 'call_a', type: 'function', function: { name: 'get_weather' } }] } }],
      [{ delta: { tool_calls: [{ index: 1, id: 'call_b' }] } }],
      [{ delta: {}, finish_reason: 'tool_calls' }],
    ]);
    stage.model.enqueue(textReply(['Warm and cold.']));
    const second = await stage.client.ask(
      withTools([
        user('weather?'),
        called(ask('call_a', 'Rome'), ask('call_b', 'Oslo')),
        result('call_b', '-3'),
        result('call_a', '30'),
      ]),
    );
    expect(second.json).toMatchObject({ choices: [{ message: { content: 'Warm and cold.' }, finish_reason: 'stop' }] });
    expect(second.headers['x-job-id']).toBe(first.headers['x-job-id']);
    expect(stage.model.requests.at(-1)?.json['messages']).toMatchObject([
      { role: 'system', content: 'Be brief.' },
      { role: 'user' },
      { role: 'assistant', content: 'Let me see.' },
      { role: 'tool', tool_call_id: 'call_a', content: '30' },
      { role: 'tool', tool_call_id: 'call_b', content: '-3' },
    ]);
  });
});

describe('curl as an OpenAI client', () => {
  /** As an example of the docs does it: `-d` and two headers. */
  async function curl(body: object, ...flags: readonly string[]): Promise<string> {
    const { stdout } = await promisify(execFile)('curl', [
      ...['-sS', '--max-time', '240', `${stage.test.url}/v1/chat/completions`],
      ...['-H', `Authorization: Bearer ${stage.owner.key}`, '-H', 'Content-Type: application/json'],
      ...['-d', JSON.stringify(body), ...flags],
    ]);
    return stdout;
  }

  it('gets a completion', async () => {
    stage.model.enqueue(textReply(['Hello ', 'there']));
    expect(JSON.parse(await curl(plain('Hi')))).toMatchObject({
      object: 'chat.completion',
      choices: [{ message: { content: 'Hello there' }, finish_reason: 'stop' }],
    });
  });

  it('gets a stream', async () => {
    stage.model.enqueue(textReply(['Hello ', 'there']));
    const text = await curl(plain('Hi', { stream: true }), '-N');
    expect(contentOf(text)).toBe('Hello there');
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  });

  it('receives tool calls and continues with their results', async () => {
    const call = ask('call_1', 'Rome');
    stage.model.enqueue(toolCallReply([call]), textReply(['Warm.']));
    const paused = chunksOf(await curl(withTools([user('Weather?')], { stream: true }), '-N'));
    expect(paused.at(-1)?.['choices']).toMatchObject([{ finish_reason: 'tool_calls' }]);
    const went = await curl(withTools([user('Weather?'), called(call), result('call_1', '30')]), '-i');
    expect(went).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(went).toContain('"content":"Warm."');
  });

  it('reads the error of an invalid request', async () => {
    const refused = await curl(plain('Hi', { model: 'unknown' }), '-i');
    expect(refused).toMatch(/^HTTP\/1\.1 404 Not Found\r\n/);
    const { error } = JSON.parse(refused.slice(refused.indexOf('{'))) as { error: unknown };
    const message = "Model 'unknown' not found";
    expect(error).toEqual({ message, type: 'invalid_request_error', param: 'model', code: 'model_not_found' });
  });
});

describe('server tools in /v1 responses', () => {
  it('appear in the text and are removed from it in later model requests', async () => {
    stage.model.enqueue(toolCallReply([add('c1', 1, 2), add('c2', 3, 4)], { text: 'Adding.' }), textReply(['Done.']));
    const content = contentOf((await stage.client.ask(clerk('Add'))).text);
    const blocks = [...content.matchAll(/<tool id="(\d)" state="(\w+)">[^<]*<\/tool>\n/g)];
    expect(blocks.map(([, id, state]) => `${id ?? ''} ${state ?? ''}`).sort()).toEqual([
      '1 done',
      '1 start',
      '2 done',
      '2 start',
    ]);
    expect(content.replaceAll(/<tool[^]*?<\/tool>\n/g, '')).toBe('Adding.\nDone.');
    stage.model.enqueue(textReply(['Yes.']));
    await stage.client.ask(plain('x', { messages: [user('Add'), { role: 'assistant', content }, user('Sure?')] }));
    expect(stage.model.requests.at(-1)?.json['messages']).toMatchObject([
      ...[{ role: 'system' }, { role: 'user', content: 'Add' }],
      { role: 'assistant', content: 'Adding.\nDone.' },
      { role: 'user', content: 'Sure?' },
    ]);
  });

  it('become tool calls in the format of Open WebUI', async () => {
    stage.model.enqueue(toolCallReply([add('c3', 1, 2)], { text: 'Adding.' }), textReply(['Three.']));
    const first = await stage.client.ask(clerk('Add'), openWebUi('chat-1'));
    const content = contentOf(first.text);
    expect(content).toMatch(
      /^Adding\.\n<details type="tool_calls" done="true" id="c3" name="add_numbers" [^\n]*>\n<summary>/,
    );
    stage.model.enqueue(textReply(['Yes.']));
    const messages = [user('Add'), { role: 'assistant', content }, user('Sure?')];
    await stage.client.ask(plain('x', { model: 'clerk', messages }), openWebUi('chat-1'));
    const sent = stage.model.requests.at(-1)?.json['messages'];
    expect(sent).toMatchObject([
      ...[{ role: 'system' }, { role: 'user' }],
      { role: 'assistant', content: 'Adding.', tool_calls: [{ id: 'c3', function: { name: 'add_numbers' } }] },
      { role: 'tool', tool_call_id: 'c3', content: '3' },
      { role: 'assistant', content: 'Three.' },
      { role: 'user' },
    ]);
    stage.model.enqueue(textReply(['Hm.']));
    await stage.client.ask(plain('x', { model: 'clerk', messages }), openWebUi('another chat'));
    expect(stage.model.requests.at(-1)?.json['messages']).toMatchObject([{}, {}, { content: 'Adding.\nThree.' }, {}]);
  });

  it('show in the text that a person is awaited', async () => {
    const { principal } = stage.owner;
    await stage.test.api.app.get(ApprovalPoliciesService).save(principal, {
      policy: { rules: [{ match: 'send', action: 'require_approval' }] },
      expectedVersion: null,
    });
    stage.model.enqueue(
      toolCallReply([{ id: 'c4', name: 'send', arguments: '{"to":"ada"}' }]),
      textReply(['Never mind.']),
    );
    const open = stage.client.open(clerk('Send'));
    await open.until(': waiting approval ');
    const interruptId = /: waiting approval (\S+)\n/.exec(open.raw())?.[1] ?? '';
    await stage.test.api.app.get(InterruptsService).decide(principal, interruptId, { decision: 'deny', reason: 'No' });
    const { text } = await open.over;
    expect(contentOf(text)).toBe(
      '<tool id="1" state="done">send(to=ada)\nTool execution rejected by user: No</tool>\nNever mind.',
    );
  });
});

describe('restarted round in a /v1 stream', () => {
  it('sends its text again from the first difference', async () => {
    const gate = createGate();
    stage.model.enqueue({ body: [textChunk('One two'), gate], end: 'destroy' }, textReply(['One ', 'three.']));
    const open = stage.client.open(plain('Count', streamed));
    await open.until('One two');
    gate.open();
    expect(contentOf((await open.over).text)).toBe('One two\n\n[restarted]\n\nOne three.');
  });

  it('sends its text once when the retry has the same text', async () => {
    const gate = createGate();
    stage.model.enqueue({ body: [textChunk('One two'), gate], end: 'destroy' }, textReply(['One ', 'two ', 'three.']));
    const open = stage.client.open(plain('Count', streamed));
    await open.until('One two');
    gate.open();
    expect(contentOf((await open.over).text)).toBe('One two three.');
  });
});

describe('/v1 response without its event log', () => {
  it.each(['inline', 'open-webui'])('replays unchanged in format %s', async (format) => {
    const key = { 'idempotency-key': `late-${format}`, 'x-tool-event-format': format };
    stage.model.enqueue(
      ...[
        toolCallReply([add('c5', 1, 2)], { text: 'Adding.' }),
        toolCallReply([add('c6', 3, 4)]),
        textReply(['Done.']),
      ],
    );
    const live = await stage.client.ask(clerk('Add'), key);
    await forget(jobOf(live));
    const late = await stage.client.ask(clerk('Add'), key);
    expect(contentOf(late.text)).toBe(contentOf(live.text));
    expect(format === 'inline' ? contentOf(late.text).startsWith(sums) : true).toBe(true);
    const whole = await stage.client.ask({ ...clerk('Add'), stream: false }, key);
    expect(whole.json['usage']).toEqual({ prompt_tokens: 33, completion_tokens: 21, total_tokens: 54 });
  });

  it('replays unchanged with the pause and the text after it', async () => {
    const asked = withTools([user('Weather?')]);
    stage.model.enqueue(toolCallReply([ask('call_a', 'Rome'), ask('call_b', 'Oslo')], { text: 'Looking.' }));
    const pause = await stage.client.ask(asked, { 'idempotency-key': 'pause' });
    const next = withTools([
      user('Weather?'),
      called(ask('call_a', 'Rome'), ask('call_b', 'Oslo')),
      result('call_a', '30'),
      result('call_b', '-3'),
    ]);
    stage.model.enqueue(toolCallReply([add('c7', 30, -3)]), textReply(['Warm and cold.']));
    const end = await stage.client.ask(next, { 'idempotency-key': 'end' });
    expect([pause, end].map(({ json }) => (json['choices'] as { finish_reason: string }[])[0]?.finish_reason)).toEqual([
      'tool_calls',
      'stop',
    ]);
    await forget(jobOf(pause));
    expect((await stage.client.ask(asked, { 'idempotency-key': 'pause' })).json).toEqual(pause.json);
    expect((await stage.client.ask(next, { 'idempotency-key': 'end' })).json).toEqual(end.json);
  });
});

describe('workflow and auto models of /v1', () => {
  it('return the content of a workflow', async () => {
    await publish(stage.test.api, stage.owner.principal, smallWorkflow({ name: 'Report' }));
    for (const model of ['workflow/report', 'team/report']) {
      stage.model.enqueue(textReply(['A ', 'report.']));
      const { text, headers } = await stage.client.ask(plain('Write', { ...streamed, model, tools: [] }));
      expect(contentOf(text)).toBe('A report.');
      expect(text).toContain(`"model":"${model}"`);
      expect(headers['x-ignored']).toBeUndefined();
    }
    expect(JSON.stringify(stage.model.requests.at(-1)?.json['messages'])).toContain('Write');
    stage.model.enqueue(textReply(['A report.']));
    const { headers } = await stage.client.ask(withTools([user('Write')], { model: 'workflow/report' }));
    expect(headers['x-ignored']).toBe('tools');
  });

  it('name the agent that `auto` chose', async () => {
    const { owner, client } = await stage.tenant('auto');
    stage.model.enqueue(textReply(['Hi.']));
    expect((await client.ask(plain('Hi', { model: 'auto' }))).json['model']).toBe('helper');
    await stage.test.api.app.get(AgentsService).create(owner.principal, { name: 'Good Cook', instructions: 'Cook.' });
    const chosen = { id: 'r', name: 'select_route', arguments: '{"route_id":"good-cook","reasoning":"x"}' };
    for (const more of [{}, streamed]) {
      stage.model.enqueue(toolCallReply([chosen]), textReply(['Soup.']));
      const reply = await client.ask(plain('Hungry', { model: 'auto', ...more }));
      expect(reply.text).toContain('"model":"good-cook"');
      expect(reply.text).toContain('Soup.');
    }
  });
});

describe('/v1 response without tool events', () => {
  const none = { 'x-tool-event-format': 'None' };
  const enqueue = () => {
    stage.model.enqueue(toolCallReply([add('c1', 1, 2)], { text: 'Adding.' }), textReply(['Done.']));
  };
  const textOf = ({ json }: CompletionReply) =>
    (json as { choices: [{ message: { content: string } }] }).choices[0].message.content;

  it('contains only the text of the model and ignores functions of the request', async () => {
    enqueue();
    const { text } = await stage.client.ask(clerk('Add'), none);
    expect([contentOf(text), text.includes('add_numbers')]).toEqual(['Adding.\n\nDone.', false]);
    enqueue();
    const whole = await stage.client.ask(withTools([user('Add')], { model: 'clerk' }), none);
    expect([textOf(whole), whole.headers['x-ignored']]).toEqual(['Adding.\n\nDone.', 'tools']);
  });

  it('follows from toolEventFormat NONE of the agent unless the request sets a format', async () => {
    const { owner, client } = await stage.tenant('quiet');
    const member = graphqlMember(stage.test, owner.key);
    const changed = await member.query(SET_FORMAT, { format: 'NONE' });
    expect(changed).toMatchObject({ updateAgent: { agent: { toolEventFormat: 'NONE', version: 2 }, userErrors: [] } });
    enqueue();
    expect(textOf(await client.ask(plain('Add')))).toBe('Adding.\n\nDone.');
    enqueue();
    expect(textOf(await client.ask(plain('Add'), { 'x-tool-event-format': 'inline' }))).toContain('<tool id="1"');
    await member.query(SET_FORMAT, { format: null });
    enqueue();
    expect(textOf(await client.ask(plain('Add')))).toContain('<tool id="1"');
  });

  it('uses the format of the agent that `auto` chose, also for a repeated request', async () => {
    const { owner, client } = await stage.tenant('chosen');
    const agents = stage.test.api.app.get(AgentsService);
    const settings = { tools: ['add_numbers'], toolEventFormat: 'none' as const };
    await agents.create(owner.principal, { name: 'Silent', instructions: 'Add.', ...settings });
    const chosen = { id: 'r', name: 'select_route', arguments: '{"route_id":"silent","reasoning":"x"}' };
    for (const more of [{}, streamed]) {
      stage.model.enqueue(toolCallReply([chosen]));
      enqueue();
      const key = { 'idempotency-key': `chosen-${JSON.stringify(more).length}` };
      const first = await client.ask(plain('Add', { model: 'auto', ...more }), key);
      const again = await client.ask(plain('Add', { model: 'auto' }), key);
      expect(first.text).not.toContain('<tool');
      expect(textOf(again)).toBe('Adding.\n\nDone.');
    }
  });
});
