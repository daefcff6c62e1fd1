import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import { type Agent, AgentsService, ChatService, type NewAgent } from '#chat';

import { type ApprovalStage, openApprovalStage } from '../harness/approval-stage.js';
import { eventually } from '../harness/eventually.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';

let stage: ApprovalStage;

beforeAll(async () => {
  stage = await openApprovalStage();
});
beforeEach(async () => {
  const all = await agents().all(stage.people.owner);
  for (const { id } of all.toSorted((a, b) => Number(a.isDefault) - Number(b.isDefault)))
    await agents().archive(stage.people.owner, id);
});
afterEach(() => {
  stage.model.assertDone();
  stage.model.requests.length = 0;
  stage.ran.length = 0;
});
afterAll(async () => {
  await stage.close();
});

const agents = () => stage.engine.app.get(AgentsService);
const made = (input: Partial<NewAgent> = {}): Promise<Agent> =>
  agents().create(stage.people.owner, { name: 'Clerk', ...input });
const asClerk = { agent: { type: 'agent', ref: 'clerk' } } as const;
const auto = { agent: { type: 'auto' } } as const;
/** What the model was asked, one entry a request. */
const asked = () =>
  stage.model.requests.map(({ json }) => ({
    ...json,
    messages: (json['messages'] as { role: string; content: unknown }[]).map(({ role, content }) => ({
      role,
      content,
    })),
    tools: ((json['tools'] ?? []) as { function: { name: string } }[]).map((tool) => tool.function.name),
  }));
const scriptReplies = (...texts: string[]) => {
  stage.model.enqueue(...texts.map((text) => textReply([text])));
};
const picks = (routeId: string) => {
  const choice = JSON.stringify({ route_id: routeId, reasoning: 'It fits.' });
  stage.model.enqueue(toolCallReply([{ id: 'r', name: 'select_route', arguments: choice }]));
};
const calls = (...names: string[]) => {
  const asked = names.map((name, i) => ({ id: `call_${i + 1}`, name, arguments: `{"to":"${'abc'.charAt(i)}"}` }));
  stage.model.enqueue(toolCallReply(asked));
};
const eventsOf = async (jobId: string, type: string) =>
  stage.rows<{ body: object; seq: string }>(
    'SELECT body, seq FROM job_event WHERE job_id = $1 AND type = $2 ORDER BY seq',
    [jobId, type],
  );

describe('chats with an agent', () => {
  it('send its model, its instructions first and its parameters', async () => {
    await made({
      model: 'clever',
      instructions: 'You are the clerk.',
      parameters: { temperature: 0.1, max_tokens: 9 },
    });
    scriptReplies('Filed.');
    const { jobId } = await stage.ask([], {
      ...asClerk,
      model: 'other',
      messages: [
        { role: 'system', content: 'Speak French.' },
        { role: 'user', content: 'File it.' },
      ],
      history: 'request',
      parameters: { temperature: 1, top_p: 0.5, max_completion_tokens: 1_000 },
    });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Filed.' });
    const [request] = asked();
    expect(request).toMatchObject({ model: 'clever', temperature: 0.1, top_p: 0.5, max_tokens: 9, tools: [] });
    expect(request).not.toHaveProperty('max_completion_tokens');
    expect(request?.messages).toEqual([
      { role: 'system', content: 'You are the clerk.' },
      { role: 'system', content: 'Speak French.' },
      { role: 'user', content: 'File it.' },
    ]);
  });

  it('use the agent version of their start', async () => {
    await made({ instructions: 'One.' });
    stage.model.enqueue({ status: 400, body: ['{"error":{"message":"no"}}'] });
    const { jobId } = await stage.ask([], asClerk);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'failed' });
    await agents().update(stage.people.owner, {
      ref: 'clerk',
      changes: { instructions: 'Two.' },
      expectedVersion: null,
    });
    await agents().archive(stage.people.owner, 'clerk');
    scriptReplies('Done.');
    const again = await stage.engine.app.get(ChatService).retry(stage.people.member, jobId);
    expect(await stage.ended(again.jobId)).toMatchObject({ status: 'completed' });
    expect(asked().at(-1)?.messages[0]).toEqual({ role: 'system', content: 'One.' });
  });

  it('offer the granted tools and run no other tool of the server', async () => {
    await made({ tools: ['look*'] });
    calls('look_up', 'send');
    scriptReplies('Done.');
    const send = { type: 'function', function: { name: 'send', parameters: { type: 'object' } } } as const;
    const { jobId } = await stage.ask([], { ...asClerk, tools: [send] });
    const ended = await stage.ended(jobId);
    expect(asked()[0]?.tools).toEqual(['look_up', 'send']);
    expect(stage.ran).toEqual([['look_up', { to: 'a' }]]);
    // `send` is a function of the request, even if the server has a tool of that name; no client can run it.
    expect(ended.calls).toMatchObject([
      { name: 'look_up', status: 'completed' },
      { name: 'send', status: 'skipped', error: { message: 'Tool "send" is client-only.' } },
    ]);
    await expect(stage.ask(['send'], asClerk)).rejects.toMatchObject({ code: 'bad_request', field: 'tools' });
  });

  it('leave its external tools to clients, with the description of the server', async () => {
    await made({ tools: ['*'], externalTools: ['send'] });
    calls('send');
    const { jobId } = await stage.ask([], { ...asClerk, client: { deviceId: null, tools: {} } });
    expect(await stage.waits(jobId)).toMatchObject([{ kind: 'client_tool', tool: 'send' }]);
    expect(asked()[0]?.tools).toEqual(expect.arrayContaining(['look_up', 'send']));
    expect(stage.ran).toEqual([]);
    // Without a client no result is possible, so the tool is not offered.
    scriptReplies('No.');
    const { jobId: alone } = await stage.ask([], asClerk);
    await stage.ended(alone);
    expect(asked()[1]?.tools).not.toContain('send');
  });

  it('apply its limits within those of the installation', async () => {
    await made({
      tools: ['look_up'],
      limits: { maxRounds: 2, maxToolCallsPerRound: 1, maxOutputBytes: 1_000_000_000 },
    });
    calls('look_up', 'look_up');
    scriptReplies('Enough.');
    const { jobId } = await stage.ask([], asClerk);
    const ended = await stage.ended(jobId);
    expect(ended.calls.map(({ status }) => status)).toEqual(['completed', 'skipped']);
    expect(asked()[1]?.tools).toEqual([]);
  });

  it('require an approval when the agent does, and name the agent', async () => {
    await made({ tools: ['*'], toolApproval: { rules: [{ match: 'send', action: 'require_approval' }] } });
    await stage.policy({ rules: [{ match: 'look_up', when: 'agent == "Clerk"', action: 'block' }] });
    calls('send', 'look_up');
    scriptReplies('Sent.');
    const { jobId } = await stage.ask([], asClerk);
    const [request] = await stage.waits(jobId);
    if (request === undefined) throw new Error('no approval was requested');
    expect(request).toMatchObject({ kind: 'tool_approval', tool: 'send', request: { agent: 'Clerk' } });
    await stage.decide(stage.people.member, request, {
      decision: 'approve',
      argumentsHash: request.request['argumentsHash'],
    });
    expect((await stage.ended(jobId)).calls.map(({ status }) => status)).toEqual(['completed', 'denied']);
    await stage.policy({});
  });

  it('fail to start for an unknown agent unless the key already has a job', async () => {
    await expect(stage.ask([], asClerk)).rejects.toMatchObject({ code: 'not_found', field: 'agent' });
    await made();
    scriptReplies('Hello.');
    const request = { ...asClerk, idempotency: { key: 'k', requestHash: 'ab' } };
    const { jobId } = await stage.ask([], request);
    await stage.ended(jobId);
    await agents().archive(stage.people.owner, 'clerk');
    expect(await stage.ask([], request)).toMatchObject({ jobId });
  });
});

describe('chats with agent "auto"', () => {
  it('fail to start without any agent', async () => {
    await expect(stage.ask([], auto)).rejects.toMatchObject({
      ...{ code: 'no_agents', message: 'No agents configured for auto-routing' },
    });
  });

  it('skip the choice when there is one agent', async () => {
    await made({ instructions: 'You are the clerk.' });
    scriptReplies('Hello.');
    const { jobId } = await stage.ask([], auto);
    await stage.ended(jobId);
    expect(asked()).toMatchObject([{ messages: [{ content: 'You are the clerk.' }, {}] }]);
    expect(await eventsOf(jobId, 'agent-selected')).toEqual([]);
  });

  it('let a model choose by the descriptions, outside the response', async () => {
    await made({ description: 'Files things.' });
    const cook = await made({
      name: 'Cook',
      description: 'Cooks.',
      model: 'hot',
      instructions: 'Cook.',
      tools: ['look_up'],
    });
    picks('cook');
    scriptReplies('Soup.');
    const { jobId } = await stage.ask([], auto);
    const ended = await stage.ended(jobId);
    const [routing, answer] = asked();
    expect(routing).toMatchObject({
      ...{ model: 'scripted', temperature: 0, max_tokens: 100, tools: ['select_route'] },
      tool_choice: { type: 'function', function: { name: 'select_route' } },
    });
    expect(routing?.messages.map(({ role }) => role)).toEqual(['system', 'user']);
    expect(routing?.messages[0]?.content).toContain('2. Cook (id: cook)\n   Cooks.');
    expect(answer).toMatchObject({ model: 'hot', tools: ['look_up'], messages: [{ content: 'Cook.' }, {}] });
    expect(ended).toMatchObject({ status: 'completed', content: 'Soup.', rounds: [{ number: 1, text: 'Soup.' }] });
    expect(await eventsOf(jobId, 'agent-selected')).toMatchObject([
      { body: { agent: cook.id, version: 1, name: 'Cook', slug: 'cook', reasoning: 'It fits.', fallback: false } },
    ]);
    const [counted] = await stage.rows('SELECT rounds, prompt_tokens AS prompt FROM job WHERE id = $1', [jobId]);
    expect(counted).toEqual({ rounds: 1, prompt: 22 });
  });

  it.each([
    [
      'names an unknown agent',
      () => {
        picks('unknown');
      },
    ],
    [
      'names no agent',
      () => {
        scriptReplies('Any.');
      },
    ],
  ])('use the default agent when the model %s', async (_, routing) => {
    await made();
    await made({ name: 'Cook', instructions: 'Cook.' });
    await agents().setDefault(stage.people.owner, 'cook');
    routing();
    scriptReplies('Soup.');
    const { jobId } = await stage.ask([], auto);
    await stage.ended(jobId);
    expect(asked()[1]?.messages[0]?.content).toBe('Cook.');
    expect(await eventsOf(jobId, 'agent-selected')).toMatchObject([{ body: { slug: 'cook', fallback: true } }]);
  });

  it('keep the chosen agent when they are retried', async () => {
    await made();
    await made({ name: 'Cook', instructions: 'Cook.' });
    picks('cook');
    stage.model.enqueue({ status: 400, body: ['{"error":{"message":"no"}}'] });
    const { jobId } = await stage.ask([], auto);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'failed' });
    scriptReplies('Soup.');
    const again = await stage.engine.app.get(ChatService).retry(stage.people.member, jobId);
    expect(await stage.ended(again.jobId)).toMatchObject({ status: 'completed', content: 'Soup.' });
    expect(asked().at(-1)?.messages[0]?.content).toBe('Cook.');
    expect(asked()).toHaveLength(3);
  });

  it('choose no agent again after a wait', async () => {
    await made();
    await made({
      name: 'Cook',
      tools: ['send'],
      toolApproval: { rules: [{ match: 'send', action: 'require_approval' }] },
    });
    picks('cook');
    calls('send');
    const { jobId } = await stage.ask([], auto);
    const [request] = await stage.waits(jobId);
    if (request === undefined) throw new Error('no approval was requested');
    scriptReplies('Sent.');
    await stage.decide(stage.people.member, request, {
      decision: 'approve',
      argumentsHash: request.request['argumentsHash'],
    });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Sent.' });
    expect(asked()).toHaveLength(3);
    expect(await eventually('one event', () => eventsOf(jobId, 'agent-selected'))).toHaveLength(1);
  });

  it('read the earlier messages of the thread without the choice', async () => {
    await made();
    await made({ name: 'Cook' });
    picks('cook');
    scriptReplies('Soup.', 'More soup.');
    const { jobId, threadId } = await stage.ask([], auto);
    await stage.ended(jobId);
    const { jobId: next } = await stage.ask([], { threadRef: threadId });
    await stage.ended(next);
    expect(asked()[2]?.messages).toEqual([
      { role: 'user', content: 'do it' },
      { role: 'assistant', content: 'Soup.' },
      { role: 'user', content: 'do it' },
    ]);
  });
});
