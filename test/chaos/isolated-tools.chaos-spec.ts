import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { eventually } from '../harness/eventually.js';
import type { NightshiftProcess } from '../harness/processes.js';
import { textReply } from '../harness/scripted-reply.js';
import { Decider } from './decider.js';
import { obey } from './obedient-model.js';
import { sleeper, Stage } from './stage.js';
import type { Viewer } from './viewer.js';

const toldTheModel = 'The tool was started but its outcome is unknown. It was not repeated.';

/** Looks for lost calls about every second. It may lose its own leases: its jobs are asked the same again, and wait meanwhile. */
const attentive = { LEASE_MS: '1500' };

describe('when a process dies while an isolated tool runs', () => {
  let stage: Stage;
  let worker: NightshiftProcess;
  /** Frozen while a victim takes the call, so that it is known who dies; idle, so it holds nothing. */
  let successor: NightshiftProcess;

  beforeAll(async () => {
    stage = await Stage.open();
    stage.model.answer(obey);
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
    // Told by one process, applied by another, shown by a third.
    await viewer.saw('tool-progress');
    victim.kill('SIGKILL');
  };

  it.each(['survey', 'refund'])(
    '%s is called again by another, with the same key, and done at most once',
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

  it('ring_bell is never called again, and the model is told that nobody knows', async () => {
    const gate = stage.ledger.holdNext();
    const viewer = await orphan('ring_bell', {}, killInFlight);
    await viewer.ended;
    gate.open();
    expect(callsOf(viewer)).toHaveLength(1);
    expect(await stateOf(viewer)).toEqual({
      status: 'completed',
      content: `${toldTheModel}\n`,
      calls: [['ring_bell', 'interrupted']],
    });
  });

  it('print_page is never called again before a person says so, and then with its old key', async () => {
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
    ['ring_bell', 1, 'interrupted'],
  ])('between the result of %s and its response, the tool is called %i times in all', async (tool, times, status) => {
    const viewer = await orphan(tool, { CRASH_POINT: 'before-tool-commit:kill' }, () => Promise.resolve());
    await viewer.ended;
    expect(callsOf(viewer)).toHaveLength(times);
    expect((await stateOf(viewer)).calls).toEqual([[tool, status]]);
  });

  it('a worker that dies while it applies a response leaves it to another, which applies it once', async () => {
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

  it('all of them die, and the call goes on by its effect once there are others', async () => {
    const gate = stage.ledger.holdAll();
    const before = stage.ledger.calls.length;
    const viewers = await Promise.all(['refund', 'ring_bell'].map((tool) => stage.order([{ tool, to: 'ada' }])));
    await stage.ledger.called(before + 2);
    await stage.killAll();
    gate.open();
    [worker, successor] = await Promise.all([stage.startWorker(attentive), stage.startTools()]);
    await Promise.all(viewers.map(({ ended }) => ended));
    const [refund, bell] = await Promise.all(viewers.map(stateOf));
    expect(refund).toMatchObject({ status: 'completed', calls: [['refund', 'completed']] });
    expect(bell).toMatchObject({ status: 'completed', calls: [['ring_bell', 'interrupted']] });
  });

  it('a process that is told to stop gives its call to another at once', async () => {
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

  it('a process that slept beyond its claim answers in vain', async () => {
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
      (await stage.database.postgres.engine.query(`SELECT 1 FROM pgboss.job WHERE name = 'tool-results'`)).rowCount;
    await eventually('what the sleeper said is dealt with', async () => ((await answers()) === 0 ? true : undefined));
    expect(await stateOf(viewer)).toMatchObject({ status: 'waiting', calls: [['refund', 'running']] });
    second.open();
    await viewer.ended;
    expect(callsOf(viewer).map(({ epoch }) => epoch)).toEqual([1, 2]);
    expect(effectsOf(viewer)).toHaveLength(1);
    await asleep.stop();
  });

  it('twenty isolated calls hold no place of a worker that has two: a chat starts at once', async () => {
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

  it('every viewer, from whatever number on, has seen 1 to N, and nothing was done twice', async () => {
    expect(await stage.problems()).toEqual([]);
  });
});
