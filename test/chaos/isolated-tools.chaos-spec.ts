import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { eventually } from '../harness/eventually.js';
import type { NightshiftProcess } from '../harness/processes.js';
import { textReply } from '../harness/scripted-reply.js';
import { Decider } from './decider.js';
import { followOrders } from './obedient-model.js';
import { sleeper, Stage } from './stage.js';
import type { Viewer } from './viewer.js';

const unknownOutcomeText = 'The tool was started but its outcome is unknown. It was not repeated.';

/**
 * Settings of a worker that looks for lost calls about every second. With so short a lease it may lose its own jobs; a second claim of these
 * jobs changes nothing.
 */
const attentive = { LEASE_MS: '1500' };

describe('isolated tools with killed processes:', () => {
  let stage: Stage;
  let worker: NightshiftProcess;
  /** Frozen while a victim takes the call, so that it is known who dies; idle, so it holds nothing. */
  let successor: NightshiftProcess;

  beforeAll(async () => {
    stage = await Stage.open();
    stage.model.answer(followOrders);
    [worker, successor] = await Promise.all([stage.startWorker(attentive), stage.startTools()]);
  });

  afterAll(async () => {
    await stage.close();
  });

  const callsOf = ({ jobId }: Viewer) => stage.ledger.calls.filter(({ key }) => key.startsWith(jobId));
  const effectsOf = ({ jobId }: Viewer) => stage.ledger.effects.filter(({ key }) => key.startsWith(jobId));
  const stateOf = async ({ jobId }: Viewer) => {
    const { status, content, calls } = await stage.snapshot(jobId);
    return { status, content, calls: calls.map(({ name, status: callStatus }) => [name, callStatus]) };
  };
  /** Orders one call of `tool`, which a process with these settings takes; the successor takes over once that one is dead. */
  const orphan = async (
    tool: string,
    env: Readonly<Record<string, string>>,
    fate: (victim: NightshiftProcess, viewer: Viewer, before: number) => Promise<void>,
  ): Promise<Viewer> => {
    const victim = await stage.startTools(env);
    successor.kill('SIGSTOP');
    const before = stage.ledger.calls.length;
    const viewer = await stage.order([{ tool, to: 'ada' }]);
    await fate(victim, viewer, before);
    expect((await victim.exited).signal).toBe('SIGKILL');
    successor.kill('SIGCONT');
    return viewer;
  };
  const killInFlight = async (victim: NightshiftProcess, viewer: Viewer, before: number) => {
    await stage.ledger.called(before + 1);
    // One process sends the response, another applies it, a third streams it.
    await viewer.saw('tool-progress');
    victim.kill('SIGKILL');
  };

  it.each(['survey', 'refund'])(
    'another process repeats %s with the same key, and its effect happens at most once',
    async (tool) => {
      const gate = stage.ledger.holdNext();
      const viewer = await orphan(tool, {}, killInFlight);
      await viewer.ended;
      gate.open();
      expect(callsOf(viewer)).toMatchObject([
        { key: `${viewer.jobId}:1:1`, epoch: 1 },
        { key: `${viewer.jobId}:1:1`, epoch: 2 },
      ]);
      expect(effectsOf(viewer)).toHaveLength(tool === 'refund' ? 1 : 0);
      expect(await stateOf(viewer)).toEqual({
        status: 'completed',
        content: `${tool} done\n`,
        calls: [[tool, 'completed']],
      });
    },
  );

  it('send_alert is not repeated, and the model reads that the outcome is unknown', async () => {
    const gate = stage.ledger.holdNext();
    const viewer = await orphan('send_alert', {}, killInFlight);
    await viewer.ended;
    gate.open();
    expect(callsOf(viewer)).toHaveLength(1);
    expect(await stateOf(viewer)).toEqual({
      status: 'completed',
      content: `${unknownOutcomeText}\n`,
      calls: [['send_alert', 'interrupted']],
    });
  });

  it('print_page is repeated only after a decision by a person, and with its old key', async () => {
    const api = await stage.startApi();
    const decider = new Decider(api, await stage.createKey(['read', 'approve']));
    const gate = stage.ledger.holdNext();
    const viewer = await orphan('print_page', {}, killInFlight);
    const [request] = await stage.waits(viewer.jobId);
    expect(request).toMatchObject({ kind: 'unknown_outcome', tool: 'print_page' });
    gate.open();
    expect(callsOf(viewer)).toHaveLength(1);
    const reply = await decider.decide({ id: request?.id ?? '' }, { decision: 'repeat' });
    expect(reply.status).toBe(200);
    await viewer.ended;
    expect(callsOf(viewer).map(({ key }) => key)).toEqual([`${viewer.jobId}:1:1`, `${viewer.jobId}:1:1`]);
    expect(await stateOf(viewer)).toMatchObject({ status: 'completed', calls: [['print_page', 'completed']] });
  });

  it.each([
    ['survey', 2, 'completed'],
    ['refund', 2, 'completed'],
    ['send_alert', 1, 'interrupted'],
  ])('a kill between the result of %s and its response leads to %i calls in all', async (tool, times, status) => {
    const viewer = await orphan(tool, { CRASH_POINT: 'before-tool-commit:kill' }, () => Promise.resolve());
    await viewer.ended;
    expect(callsOf(viewer)).toHaveLength(times);
    expect((await stateOf(viewer)).calls).toEqual([[tool, status]]);
  });

  it('another worker applies a response once when the first one dies while applying it', async () => {
    worker.kill('SIGSTOP');
    const victim = await stage.startWorker({ CRASH_POINT: 'in-tool-result:kill' });
    const viewer = await stage.order([{ tool: 'print_page', to: 'ada' }]);
    expect((await victim.exited).signal).toBe('SIGKILL');
    worker.kill('SIGCONT');
    await viewer.ended;
    expect(callsOf(viewer)).toHaveLength(1);
    expect(await stateOf(viewer)).toMatchObject({ status: 'completed', calls: [['print_page', 'completed']] });
    const moves = viewer.events.filter(({ type }) => type === 'tool-call-updated');
    expect(moves.map(({ body }) => (body as { internalStatus: string }).internalStatus)).toEqual(['completed']);
  });

  it('new tool workers continue or report a call by its effect after all others died', async () => {
    const gate = stage.ledger.holdAll();
    const before = stage.ledger.calls.length;
    const viewers = await Promise.all(['refund', 'send_alert'].map((tool) => stage.order([{ tool, to: 'ada' }])));
    await stage.ledger.called(before + 2);
    await stage.killAll();
    gate.open();
    [worker, successor] = await Promise.all([stage.startWorker(attentive), stage.startTools()]);
    await Promise.all(viewers.map(({ ended }) => ended));
    const [refund, alert] = await Promise.all(viewers.map(stateOf));
    expect(refund).toMatchObject({ status: 'completed', calls: [['refund', 'completed']] });
    expect(alert).toMatchObject({ status: 'completed', calls: [['send_alert', 'interrupted']] });
  });

  it('a stopping process hands its call to another one at once', async () => {
    const gate = stage.ledger.holdAll();
    const victim = await stage.startTools();
    successor.kill('SIGSTOP');
    const before = stage.ledger.calls.length;
    const viewer = await stage.order([{ tool: 'refund', to: 'ada' }]);
    await stage.ledger.called(before + 1);
    expect((await victim.stop()).code).toBe(0);
    successor.kill('SIGCONT');
    await stage.ledger.called(before + 2);
    gate.open();
    await viewer.ended;
    expect(effectsOf(viewer)).toHaveLength(1);
    expect(await stateOf(viewer)).toMatchObject({ status: 'completed', calls: [['refund', 'completed']] });
  });

  it('the response of a process that was paused beyond its claim is ignored', async () => {
    const asleep = await stage.startTools(sleeper);
    successor.kill('SIGSTOP');
    const [first, second] = [stage.ledger.holdNext(), stage.ledger.holdNext()];
    const before = stage.ledger.calls.length;
    const viewer = await stage.order([{ tool: 'refund', to: 'ada' }]);
    await stage.ledger.called(before + 1);
    asleep.kill('SIGSTOP');
    first.open();
    successor.kill('SIGCONT');
    await stage.ledger.called(before + 2);
    asleep.kill('SIGCONT');
    const answers = async () =>
      (
        await stage.database.postgres.workerPool.query(
          `SELECT 1 FROM pgboss.job WHERE name = 'tool-results' AND state < 'completed'`,
        )
      ).rowCount;
    await eventually('the late response is processed', async () => ((await answers()) === 0 ? true : undefined));
    expect(await stateOf(viewer)).toMatchObject({ status: 'waiting', calls: [['refund', 'running']] });
    second.open();
    await viewer.ended;
    expect(callsOf(viewer).map(({ epoch }) => epoch)).toEqual([1, 2]);
    expect(effectsOf(viewer)).toHaveLength(1);
    await asleep.stop();
  });

  it('twenty isolated calls use no worker slot, so a chat starts at once on a worker with two slots', async () => {
    worker.kill('SIGSTOP');
    const gate = stage.ledger.holdAll();
    const small = await stage.startWorker({ WORKER_SLOTS: '2' });
    const before = stage.ledger.calls.length;
    const busy = await Promise.all(Array.from({ length: 20 }, () => stage.order([{ tool: 'survey', to: 'ada' }])));
    // A process takes ten of one tool, and leaves the others to the next.
    const more = await stage.startTools();
    await stage.ledger.called(before + 20);
    stage.model.enqueue(textReply(['At once.']));
    const chat = await stage.ask('are you there?');
    await chat.ended;
    expect(await stateOf(chat)).toMatchObject({ status: 'completed', content: 'At once.' });
    expect(busy.filter(({ events }) => events.some(({ type }) => type === 'job-finished'))).toEqual([]);
    gate.open();
    await Promise.all(busy.map(({ ended }) => ended));
    worker.kill('SIGCONT');
    await Promise.all([small.stop(), more.stop()]);
  });

  it('every viewer receives the events 1 to N from any cursor, and no side effect is repeated', async () => {
    expect(await stage.problems()).toEqual([]);
  });
});
