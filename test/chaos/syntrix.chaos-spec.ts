import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { SyntrixServer } from '../../libs/triggers/src/syntrix/server/syntrix-server.js';
import { eventually } from '../harness/eventually.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';
import { connect, startSyntrix, workerTriggers } from '../harness/syntrix-stage.js';
import { Stage } from './stage.js';

const env = { ALLOW_PRIVATE_TOOL_URLS: 'true', NODE_ENV: 'test' };

describe('a Syntrix chat whose worker is killed', () => {
  let stage: Stage;
  let server: SyntrixServer;

  beforeAll(async () => {
    stage = await Stage.open(undefined, env);
    server = await startSyntrix();
    const api = await stage.startApi(env);
    const { url } = api;
    if (url === null) throw new Error('the api has no url');
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

  it.each([
    ['before the model is asked', 'after-external-question'],
    ['before the response is committed', 'after-response'],
    ['before the documents are written', 'before-external-write'],
    ['between two tool documents', 'after-tool-document'],
    ['after the documents are written', 'after-external-write'],
    ['before the result of the second call is confirmed', 'after-tool-update:kill:2'],
    ['before the last job ends', 'before-finish:kill:4'],
  ])('%s has one document for each call and one answer', async (_, point) => {
    const chat = `users/u/orch-chats/${point.replaceAll(':', '-')}`;
    const victim = await stage.startWorker({ ...env, CRASH_POINT: point.includes(':') ? point : `${point}:kill` });
    server.create(`${chat}/messages`, { id: 'm1', role: 'user', content: 'How late is it?', createdAt: 1 });
    expect((await victim.exited).signal).toBe('SIGKILL');
    const successor = await stage.startWorker(env);
    const answers = () => server.store.list(`${chat}/messages`).filter(({ role }) => role === 'assistant');
    await eventually('the chat is answered', () => (answers().length > 0 ? true : undefined));
    await server.settled();
    await eventually('all jobs have ended', async () => {
      const { rows } = await stage.database.postgres.engine.query(
        `SELECT 1 FROM job WHERE status NOT IN ('completed', 'failed', 'cancelled')`,
      );
      return rows.length === 0 ? true : undefined;
    });
    expect(answers()).toMatchObject([{ content: 'It is late.' }]);
    expect(server.store.list(`${chat}/toolcall`)).toMatchObject([
      { id: 'call_1', status: 'success' },
      { id: 'call_2', status: 'success' },
    ]);
    await successor.stop();
  });
});
