import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { WebhookEndpoints } from '../../libs/triggers/src/outbound/webhook-endpoints.service.js';
import { isSignedBy } from '../../libs/triggers/src/signature.js';
import { eventually } from '../harness/eventually.js';
import type { NightshiftProcess } from '../harness/processes.js';
import type { Answerer } from '../harness/scripted-model.js';
import { createGate, textChunk, textReply, toolCallReply } from '../harness/scripted-reply.js';
import { openTestWebhooks, type TestWebhooks } from '../harness/webhooks.js';
import { Stage } from './stage.js';
import type { Viewer } from './viewer.js';

const call = (name: string) => toolCallReply([{ id: 'call_1', name, arguments: '{}' }]);

/** Requests one call for this prompt, and ends when it has the result. */
const callOnce =
  (prompt: string, tool: string): Answerer =>
  ({ json }) => {
    const messages = json['messages'] as readonly { readonly role: string; readonly content: unknown }[]; // as the model client writes them
    if (!messages.some(({ content }) => content === prompt)) return undefined;
    return messages.some(({ role }) => role === 'tool') ? textReply(['Done.']) : call(tool);
  };

describe('jobs of a killed worker', () => {
  let stage: Stage;

  beforeAll(async () => {
    stage = await Stage.open();
  });

  afterEach(() => {
    stage.model.assertDone();
  });

  afterAll(async () => {
    await stage.close();
  });

  /** Has `ask` run on a worker with these settings, the only one, and starts another one after its death. */
  const orphan = async (env: Readonly<Record<string, string>>, ask: (worker: NightshiftProcess) => Promise<Viewer>) => {
    const worker = await stage.startWorker(env);
    const viewer = await ask(worker);
    expect((await worker.exited).signal).toBe('SIGKILL');
    const successor = await stage.startWorker();
    await viewer.ended;
    await successor.stop();
    return viewer;
  };
  const toolStates = async (jobId: string) =>
    (await stage.snapshot(jobId)).calls.map(({ name, status }) => [name, status]);
  const callsOf = (jobId: string) => stage.ledger.calls.filter(({ key }) => key.startsWith(jobId));
  const lastResult = () => {
    const messages = stage.model.requests.at(-1)?.json['messages'];
    return JSON.stringify(Array.isArray(messages) ? messages.at(-1) : null);
  };

  it('withdraw the text of the interrupted round and stream it again', async () => {
    const gate = createGate();
    stage.model.enqueue(
      { body: [textChunk('Half a'), textChunk(' sent'), gate] },
      textReply(['A whole ', 'sentence.']),
    );
    const viewer = await orphan({}, async (worker) => {
      const asked = await stage.ask('speak');
      await asked.saw('text-delta');
      worker.kill('SIGKILL');
      return asked;
    });
    gate.open();
    expect(viewer.events.filter(({ type }) => type === 'round-restarted')).toHaveLength(1);
    expect(await stage.snapshot(viewer.jobId)).toMatchObject({ status: 'completed', content: 'A whole sentence.' });
  });

  it('repeat an idempotent tool call with the same key, and its effect happens once', async () => {
    const gate = stage.ledger.holdNext();
    stage.model.enqueue(call('charge'), textReply(['Paid.']));
    const { jobId } = await orphan({}, async (worker) => {
      const before = stage.ledger.calls.length;
      const asked = await stage.ask('pay', ['charge']);
      await stage.ledger.called(before + 1);
      worker.kill('SIGKILL');
      return asked;
    });
    gate.open();
    expect(callsOf(jobId).map(({ key, epoch }) => [key, epoch])).toEqual([
      [`${jobId}:1:1`, 1],
      [`${jobId}:1:1`, 2],
    ]);
    expect(await toolStates(jobId)).toEqual([['charge', 'completed']]);
  });

  it('do not repeat a `once` tool call, and the model reads that its outcome is unknown', async () => {
    const gate = stage.ledger.holdNext();
    stage.model.enqueue(call('post_note'), textReply(['I do not know.']));
    const { jobId } = await orphan({}, async (worker) => {
      const before = stage.ledger.calls.length;
      const asked = await stage.ask('write', ['post_note']);
      await stage.ledger.called(before + 1);
      worker.kill('SIGKILL');
      return asked;
    });
    gate.open();
    expect(callsOf(jobId)).toHaveLength(1);
    expect(await toolStates(jobId)).toEqual([['post_note', 'interrupted']]);
    expect(lastResult()).toContain('unknown');
  });

  it.each([
    ['look_up', 2, 'completed'],
    ['charge', 2, 'completed'],
    ['post_note', 1, 'interrupted'],
  ])('call %s, killed between result and commit, %i times in all', async (name, times, status) => {
    // A round of pure calls is written with its results, so it is lost with the worker, and the model is asked again. If the call takes long, the
    // round is written first. So the model answers by what it reads.
    stage.model.answer(callOnce(`go ${name}`, name));
    const { jobId } = await orphan({ CRASH_POINT: 'before-tool-commit:kill' }, () => stage.ask(`go ${name}`, [name]));
    expect(callsOf(jobId)).toHaveLength(times);
    expect(await toolStates(jobId)).toEqual([[name, status]]);
  });

  it('request an uncommitted model response again and mix no text of the two', async () => {
    stage.model.enqueue(textReply(['Unheard.']), textReply(['Heard.']));
    const { jobId } = await orphan({ CRASH_POINT: 'after-response:kill' }, () => stage.ask('speak'));
    expect(await stage.snapshot(jobId)).toMatchObject({ status: 'completed', content: 'Heard.' });
  });

  it('keep a committed round, and run its calls once', async () => {
    stage.model.enqueue(call('charge'), textReply(['Paid.']));
    const { jobId } = await orphan({ CRASH_POINT: 'after-round-commit:kill' }, () => stage.ask('pay', ['charge']));
    expect(callsOf(jobId)).toHaveLength(1);
    expect(await stage.snapshot(jobId)).toMatchObject({ status: 'completed', content: 'Paid.' });
  });

  it('run an unsent `once` call of a committed round without asking a person', async () => {
    stage.model.enqueue(call('post_note'), textReply(['Posted.']));
    const { jobId } = await orphan({ CRASH_POINT: 'after-round-commit:kill' }, () => stage.ask('post', ['post_note']));
    expect(callsOf(jobId)).toHaveLength(1);
    expect(await toolStates(jobId)).toEqual([['post_note', 'completed']]);
    expect(await stage.snapshot(jobId)).toMatchObject({ status: 'completed', content: 'Posted.' });
  });

  it('end once when the worker dies before it writes the end', async () => {
    stage.model.enqueue(textReply(['The end.']), textReply(['The end.']));
    const { jobId } = await orphan({ CRASH_POINT: 'before-finish:kill' }, () => stage.ask('end'));
    expect(await stage.snapshot(jobId)).toMatchObject({ status: 'completed', content: 'The end.' });
  });

  it('become dead letters when they kill their workers repeatedly', async () => {
    const gate = createGate();
    const replies = Array.from({ length: 2 }, () => ({ body: [textChunk('Boom'), gate] }));
    stage.model.enqueue(...replies);
    const asked = await stage.ask('kill');
    for (let n = 1; n <= 2; n++) {
      const victim = await stage.startWorker({ MAX_ATTEMPTS: '2' });
      await asked.saw('text-delta', n);
      victim.kill('SIGKILL');
      await victim.exited;
    }
    gate.open();
    const last = await stage.startWorker({ MAX_ATTEMPTS: '2' });
    await asked.ended;
    expect(await stage.snapshot(asked.jobId)).toMatchObject({ status: 'failed', error: { code: 'poison' } });
    expect((await last.stop()).code).toBe(0);
  });

  it('deliver each event number once to every viewer, and repeat no side effect', async () => {
    expect(await stage.problems()).toEqual([]);
  });
});

describe('a webhook of a killed worker', () => {
  let stage: Stage;
  let webhooks: TestWebhooks;

  beforeAll(async () => {
    stage = await Stage.open();
    webhooks = await openTestWebhooks(stage.database);
  });

  afterAll(async () => {
    await webhooks.close();
    await stage.close();
  });

  it('arrives again with the same id and body, and counts as one attempt', async () => {
    const { receiver } = webhooks;
    const endpoints = webhooks.app.get(WebhookEndpoints);
    const { endpoint, secret } = await endpoints.save(stage.owner, null, {
      ...{ url: receiver.url(), description: '', events: ['job.completed'], enabled: true, signature: 'standard' },
      ...{ headers: {}, onlyUnwatched: false, includeContent: false },
    });
    const victim = await stage.startWorker({ ...receiver.env, CRASH_POINT: 'webhook-sent:kill' });
    const { id } = await endpoints.test(stage.owner, endpoint.id);
    expect((await victim.exited).signal).toBe('SIGKILL');
    expect(receiver.received).toHaveLength(1);
    const successor = await stage.startWorker(receiver.env);
    const delivery = await eventually('it is delivered', async () => {
      const { items } = await endpoints.deliveries(stage.owner, {}, { first: 10 });
      return items[0]?.status === 'delivered' ? items : undefined;
    });
    expect(delivery).toMatchObject([{ id, status: 'delivered', attempts: 1 }]);
    expect(receiver.received.map(({ headers }) => headers['webhook-id'])).toEqual([id, id]);
    const [first, second] = receiver.received.map(({ body }) => body.toString());
    expect(second).toBe(first);
    const isSigned = receiver.received.map((one) => isSignedBy([secret?.reveal() ?? ''], one, { now: Date.now() }));
    expect(isSigned).toEqual([true, true]);
    await successor.stop();
  });
});
