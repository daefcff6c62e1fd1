import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { newId } from '#platform';

import { signatureHeaders } from '../../libs/triggers/src/signature.js';
import { eventually } from '../harness/eventually.js';
import { ask } from '../harness/graphql.js';
import type { NightshiftProcess } from '../harness/processes.js';
import {
  createGate,
  defaultUsage,
  doneLine,
  finishChunk,
  textChunk,
  textReply,
  usageChunk,
} from '../harness/scripted-reply.js';
import { SseViewer } from './sse-viewer.js';
import { Stage } from './stage.js';

const pieces = Array.from({ length: 25 }, (_, n) => `piece ${n}, `);

describe('jobs with a killed API process', () => {
  let stage: Stage;
  let apis: NightshiftProcess[];
  let urls: string[];
  let key: string;

  beforeAll(async () => {
    stage = await Stage.open();
    apis = await Promise.all([stage.startApi(), stage.startApi()]);
    urls = apis.map(({ url }) => url ?? '');
    key = await stage.createKey();
    await stage.startWorker();
    stage.model.answer(() => textReply(pieces, { delayMs: 60 }));
  });

  afterAll(async () => {
    await stage.close();
  });

  const post = async (api: NightshiftProcess | undefined, name: string): Promise<Response> => {
    const response = await fetch(new URL('/api/jobs', api?.url ?? ''), {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'idempotency-key': name },
      body: JSON.stringify({
        background: true,
        threadId: name,
        messageId: `answer to ${name}`,
        messages: [{ role: 'user', content: 'speak' }],
      }),
    });
    // A machine that is too busy for now has done nothing of it: ask again, as any client does.
    return response.status === 503 ? post(api, name) : response;
  };
  const jobIdOf = async (response: Response) => String(Reflect.get(Object(await response.json()), 'jobId'));

  it('continue for its viewers at another process, and reach the viewers of that process without a gap', async () => {
    // The model falls silent in the middle until those who lost their server are back.
    const gate = createGate();
    const [before, after] = [pieces.slice(0, 12), pieces.slice(12)].map((part) => part.map(textChunk));
    const body = [...(before ?? []), gate, ...(after ?? []), finishChunk('stop'), usageChunk(defaultUsage), doneLine];
    stage.model.answer(() => ({ body }));
    const watched = await Promise.all(Array.from({ length: 5 }, (_, n) => stage.ask(`speak ${n}`)));
    const [doomed = [], safe = []] = [urls, urls.toReversed()].map((order) =>
      watched.map(({ jobId }) => new SseViewer(order, key, jobId)),
    );
    const all = [...doomed, ...safe];
    await eventually('everybody sees text', () =>
      all.every(({ events }) => events.some(({ type }) => type === 'text-delta')) ? true : undefined,
    );
    expect(all.every(({ events }) => events.at(-1)?.type !== 'job-finished')).toBe(true);
    apis[0]?.kill('SIGKILL');
    await eventually('the doomed are back', () =>
      doomed.every(({ reattached }) => reattached > 0) ? true : undefined,
    );
    gate.open();
    await Promise.all(all.map(({ ended }) => ended));
    expect(safe.every(({ reattached }) => reattached === 0)).toBe(true);
    const numbers = all.map(({ events }) => events.map(({ seq }) => seq));
    expect(numbers).toEqual(numbers.map((seqs) => seqs.map((_, i) => i + 1)));
  });

  it('complete when it had accepted them, and are readable from any event number', async () => {
    const api = await stage.startApi({ CRASH_POINT: 'after-listen:kill' });
    const response = await post(api, 'seen');
    expect(response.status).toBe(202);
    const jobId = await jobIdOf(response);
    // The first viewer takes the process down with it, before it has read anything.
    const viewer = new SseViewer([api.url ?? '', urls[1] ?? ''], key, jobId);
    expect((await api.exited).signal).toBe('SIGKILL');
    await viewer.ended;
    const late = viewer.events.slice(0, -1).map(({ seq }) => new SseViewer([urls[1] ?? ''], key, jobId, seq));
    for (const one of late) {
      await one.ended;
      expect(one.events).toEqual(viewer.events.slice(one.after));
    }
    expect(viewer.events.map(({ seq }) => seq)).toEqual(viewer.events.map((_, i) => i + 1));
  });

  it('start once at another process when the same request is sent again after a kill during acceptance, and leave no partial rows', async () => {
    const api = await stage.startApi({ CRASH_POINT: 'before-queue-message:kill' });
    await expect(post(api, 'half')).rejects.toThrow('fetch failed');
    expect((await api.exited).signal).toBe('SIGKILL');
    const ids = await Promise.all([1, 2].map(async () => jobIdOf(await post(apis[1], 'half'))));
    expect(new Set(ids).size).toBe(1);
    await stage.watch(ids[0] ?? '').ended;
    const { rows } = await stage.database.postgres.workerPool.query<{ id: string }>(
      `SELECT id FROM job WHERE idempotency_key = 'half'`,
    );
    expect(rows).toEqual([{ id: ids[0] }]);
  });

  it('start once for each request to a trigger whose process died while accepting requests', async () => {
    const admin = await stage.createKey(['read', 'write', 'admin']);
    const [secret, name] = ['the secret of the hooks, long enough', 'HOOK_SECRET'];
    const definition = { triggerId: 'hook', source: 'webhook', secretsRef: name, start: { prompt: "'speak'" } };
    const query = `mutation($definition: JSON!) {
      setWorkspaceSecret(input: { name: "${name}", value: "${secret}" }) { userErrors { message } }
      saveTrigger(input: { definition: $definition }) { trigger { id } userErrors { message } } }`;
    const api = await stage.startApi();
    const { data } = await ask({ url: api.url ?? '' }, query, { key: admin, variables: { definition } });
    const { trigger } = (data as { saveTrigger: { trigger: { id: string } } }).saveTrigger; // as the query asks
    let accepted = 0;
    const fire = async (url: string | null | undefined, id: string): Promise<boolean> => {
      const message = { id, timestamp: Math.floor(Date.now() / 1_000), body: JSON.stringify({ id }) };
      const headers = { ...signatureHeaders('standard', [secret], message), 'content-type': 'application/json' };
      const request = { method: 'POST', headers, body: message.body };
      const isAccepted = await fetch(`${url ?? ''}/hooks/${trigger.id}`, request).then(
        async (response) => (await response.text()) === 'OK',
        () => false, // the process was killed
      );
      if (isAccepted && ++accepted === 8) api.kill('SIGKILL');
      return isAccepted;
    };
    const ids = Array.from({ length: 40 }, () => newId());
    const first = await Promise.all(ids.map(async (id) => ({ id, isAccepted: await fire(api.url, id) })));
    expect((await api.exited).signal).toBe('SIGKILL');
    const failed = first.filter(({ isAccepted }) => !isAccepted);
    expect(failed.length).toBeGreaterThan(0);
    const keysOf = () =>
      stage.database.postgres.withWorkspaceSql(stage.owner.workspaceId, async (client) => {
        const sql = 'SELECT key, status FROM trigger_run ORDER BY key';
        return (await client.query<{ key: string; status: string }>(sql)).rows;
      });
    const stored = new Set((await keysOf()).map(({ key }) => key));
    const lost = first.filter(({ id, isAccepted }) => isAccepted && !stored.has(`id:${id}`));
    expect(lost).toEqual([]);
    for (const { id } of failed)
      await eventually('another process accepts it', async () => ((await fire(apis[1]?.url, id)) ? true : undefined));
    await eventually('each run has started its job', async () => {
      const runs = await keysOf();
      return runs.every(({ status }) => status === 'started') ? true : undefined;
    });
    expect((await keysOf()).map(({ key }) => key)).toEqual(ids.map((id) => `id:${id}`).sort());
    const { rows } = await stage.database.postgres.workerPool.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM job WHERE idempotency_key LIKE 'trigger:%'`,
    );
    expect(rows).toEqual([{ count: ids.length }]);
  });

  it('deliver the events 1 to N to every viewer from any cursor', async () => {
    expect(await stage.problems()).toEqual([]);
  });
});
