import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { signatureOf, type SyntrixServer } from '../../libs/triggers/src/syntrix/server/syntrix-server.js';
import { eventually } from '../harness/eventually.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';
import { connect, signingSecret, startSyntrix, workerTriggers } from '../harness/syntrix-stage.js';
import { Stage } from './stage.js';

const env = { ALLOW_PRIVATE_TOOL_URLS: 'true', NODE_ENV: 'test' };

describe('a Syntrix chat', () => {
  let stage: Stage;
  let server: SyntrixServer;
  let url: string;

  beforeAll(async () => {
    stage = await Stage.open(undefined, env);
    server = await startSyntrix();
    const api = await stage.startApi(env);
    if (api.url === null) throw new Error('the api has no url');
    url = api.url;
    const key = await stage.createKey(['read', 'write', 'admin']);
    await connect({ url }, server, { key, tools: ['get_current_time'] });
    server.triggers = workerTriggers(url);
    // Asked again after a crash, the model answers as before.
    stage.model.answer((request) =>
      request.body.includes('"role":"tool"')
        ? textReply(['It is late.'])
        : toolCallReply([1, 2].map((n) => ({ id: `call_${n}`, name: 'get_current_time', arguments: '{}' }))),
    );
  });

  afterAll(async () => {
    await server.close();
    await stage.close();
  });

  const answersOf = (chat: string) => server.store.list(`${chat}/messages`).filter(({ role }) => role === 'assistant');
  const ended = () =>
    eventually('all jobs have ended', async () => {
      const { rows } = await stage.database.postgres.workerPool.query(
        `SELECT 1 FROM job WHERE status NOT IN ('completed', 'failed', 'cancelled')`,
      );
      return rows.length === 0 ? true : undefined;
    });

  it.each([
    ['before it commits the job of a delivery', 'before-queue-message'],
    ['before it responds to a delivery', 'delivery-accepted'],
  ])('gets one answer if the API process is killed %s and the delivery is repeated', async (_, point) => {
    const chat = `users/u/orch-chats/${point}`;
    const victim = await stage.startApi({ ...env, CRASH_POINT: `${point}:kill` });
    server.triggers = workerTriggers(victim.url ?? '');
    const before = server.deliveries.length;
    server.create(`${chat}/messages`, { id: 'm1', role: 'user', content: 'How late is it?', createdAt: 1 });
    expect((await victim.exited).signal).toBe('SIGKILL');
    const delivery = await eventually('the delivery has failed', () =>
      server.deliveries.slice(before).find(({ attempts }) => attempts.includes('failed')),
    );
    server.triggers = workerTriggers(url);
    const worker = await stage.startWorker(env);
    for (let repeat = 0; repeat < 3; repeat++) {
      const response = await fetch(`${url}/webhook/llm`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-syntrix-signature': signatureOf(signingSecret, delivery.body),
        },
        body: delivery.body,
      });
      expect([response.status, await response.text()]).toEqual([200, 'OK']);
    }
    await eventually('the chat is answered', () => (answersOf(chat).length > 0 ? true : undefined));
    await server.settled();
    await ended();
    expect(answersOf(chat)).toMatchObject([{ content: 'It is late.' }]);
    expect(server.store.list(`${chat}/toolcall`)).toMatchObject([{ status: 'success' }, { status: 'success' }]);
    await worker.stop();
  });

  it.each([
    ['before the model is asked', 'after-external-question'],
    ['before the response is committed', 'after-response'],
    ['before the documents are written', 'before-external-write'],
    ['between two tool documents', 'after-tool-document'],
    ['after the documents are written', 'after-external-write'],
    ['before the result of the second call is confirmed', 'after-tool-update:kill:2'],
    ['before the last job ends', 'before-finish:kill:4'],
  ])('gets one document for each call and one answer if the worker is killed %s', async (_, point) => {
    const chat = `users/u/orch-chats/${point.replaceAll(':', '-')}`;
    const victim = await stage.startWorker({ ...env, CRASH_POINT: point.includes(':') ? point : `${point}:kill` });
    server.create(`${chat}/messages`, { id: 'm1', role: 'user', content: 'How late is it?', createdAt: 1 });
    expect((await victim.exited).signal).toBe('SIGKILL');
    const successor = await stage.startWorker(env);
    await eventually('the chat is answered', () => (answersOf(chat).length > 0 ? true : undefined));
    await server.settled();
    await ended();
    expect(answersOf(chat)).toMatchObject([{ content: 'It is late.' }]);
    expect(server.store.list(`${chat}/toolcall`)).toMatchObject([
      { id: 'call_1', status: 'success' },
      { id: 'call_2', status: 'success' },
    ]);
    await successor.stop();
  });
});
