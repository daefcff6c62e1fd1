import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { AgentsService } from '#chat';

import { chunksOf, type CompletionsClient, completionsClient, contentOf } from '../harness/openai-client.js';
import { ask, called, plain, result, user, withTools } from '../harness/openai-stage.js';
import type { NightshiftProcess } from '../harness/processes.js';
import { createGate, textReply, toolCallReply } from '../harness/scripted-reply.js';
import { Stage } from './stage.js';

describe('POST /v1/chat/completions with killed processes', () => {
  let stage: Stage;
  let key: string;
  let safe: CompletionsClient;

  beforeAll(async () => {
    stage = await Stage.open();
    await stage.engine.app.get(AgentsService).create(stage.owner, { name: 'Helper', instructions: 'Be brief.' });
    key = await stage.createKey();
    safe = clientOf(await stage.startApi());
    await stage.startWorker();
  });
  afterAll(() => stage.close());

  const clientOf = ({ url }: NightshiftProcess) => completionsClient(url ?? '', key);

  it('returns the same response at another process after a lost stream, without another model request', async () => {
    const gate = createGate();
    const { body } = textReply(['One, ', 'two.']);
    stage.model.enqueue({ body: [...body.slice(0, 2), gate, ...body.slice(2)] });
    const api = await stage.startApi();
    const request = plain('count', { stream: true });
    const lost = clientOf(api).open(request, { 'idempotency-key': 'lost' });
    await lost.until('One, ');
    api.kill('SIGKILL');
    expect(await lost.over).toMatchObject({ complete: false });
    const again = safe.open(request, { 'idempotency-key': 'lost' });
    await again.until('One, ');
    gate.open();
    const { text } = await again.over;
    expect(contentOf(text)).toBe('One, two.');
    expect(chunksOf(text)[0]?.['id']).toBe(chunksOf(lost.raw())[0]?.['id']);
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(stage.model.requests).toHaveLength(1);
  });

  it('continues a paused run after every process was killed', async () => {
    const asked = stage.model.requests.length;
    stage.model.enqueue(toolCallReply([ask('a', 'Rome'), ask('b', 'Oslo')]));
    const api = await stage.startApi();
    const pause = await clientOf(api).ask(withTools([user('weather?')]));
    expect(pause.json).toMatchObject({ choices: [{ finish_reason: 'tool_calls' }] });
    await stage.killAll();
    const [client] = await Promise.all([stage.startApi().then(clientOf), stage.startWorker()]);
    safe = client;
    stage.model.enqueue(textReply(['warm and cold']));
    const history = [user('weather?'), called(ask('a', 'Rome'), ask('b', 'Oslo'))];
    const answer = await client.ask(withTools([...history, result('a', '30'), result('b', '-3')]));
    expect(answer.json).toMatchObject({ choices: [{ message: { content: 'warm and cold' } }] });
    expect(answer.headers['x-job-id']).toBe(pause.headers['x-job-id']);
    expect(stage.model.requests).toHaveLength(asked + 2);
  });

  it('changes nothing when the process dies in the middle of a continuation', async () => {
    stage.model.enqueue(toolCallReply([ask('c', 'Rome'), ask('d', 'Oslo')]));
    await safe.ask(withTools([user('weather?')]));
    const api = await stage.startApi({ CRASH_POINT: 'in-decision:kill:2' });
    const history = [user('weather?'), called(ask('c', 'Rome'), ask('d', 'Oslo'))];
    const request = withTools([...history, result('c', '30'), result('d', '-3')]);
    const half = clientOf(api).open(request, { 'idempotency-key': 'half' });
    await expect(half.begun).rejects.toThrow();
    expect((await api.exited).signal).toBe('SIGKILL');
    stage.model.enqueue(textReply(['both']));
    const replies = await Promise.all([1, 2, 3].map(() => safe.ask(request, { 'idempotency-key': 'half' })));
    for (const { json } of replies) expect(json).toEqual(replies[0]?.json);
    expect(replies[0]?.json).toMatchObject({ choices: [{ message: { content: 'both' } }] });
    const { messages } = stage.model.requests.at(-1)?.json as { messages: { tool_call_id?: string }[] };
    expect(messages.flatMap(({ tool_call_id: id }) => (id === undefined ? [] : [id]))).toEqual(['c', 'd']);
  });

  it('accepts a request once when the process dies while accepting it', async () => {
    const api = await stage.startApi({ CRASH_POINT: 'before-queue-message:kill' });
    const headers = { 'idempotency-key': 'accepted', 'x-session-id': 'accepted' };
    const half = clientOf(api).open(plain('hi'), headers);
    await expect(half.begun).rejects.toThrow();
    stage.model.enqueue(textReply(['once']));
    const replies = await Promise.all([1, 2].map(() => safe.ask(plain('hi'), headers)));
    expect(new Set(replies.map((reply) => reply.headers['x-job-id'])).size).toBe(1);
    expect(replies[0]?.json).toMatchObject({ choices: [{ message: { content: 'once' } }] });
  });

  it('violates no invariant', async () => {
    stage.model.assertDone();
    expect(await stage.problems()).toEqual([]);
  });
});
