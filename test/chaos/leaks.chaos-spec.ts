import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { ApprovalPoliciesService } from '#approvals';
import type { MemberPrincipal } from '#auth';
import { ChatService } from '#chat';
import { EventFeed, JobStarter } from '#jobs';

import { ConversationRepository } from '../../libs/chat/src/history/conversation.repository.js';
import { EventLog } from '../../libs/jobs/src/events/event-log.js';
import { LocalEvents } from '../../libs/jobs/src/events/local-events.js';
import { JobRunner } from '../../libs/jobs/src/run/job-runner.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { startTestEngine, type TestEngine } from '../harness/engine.js';
import { eventually } from '../harness/eventually.js';
import { openTestIdentities } from '../harness/identities.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';
import { chat } from './chat.js';
import { OpenTimers } from './open-timers.js';
import { type Viewer, watch } from './viewer.js';

const jobsAtOnce = 100;
/** Before them code is compiled, and pools and caches are filled. */
const jobsToWarmUp = 800;
/** Each measures two hundred jobs. What the engine keeps for itself comes and goes in leaps; a leak stays, and adds up. */
const measures = 7;
/** Each adds a hundred waiting jobs. The first ones fill type feedback and caches, and are not measured. */
const [waitingWarmUps, waitingMeasures] = [2, 7];
/** Bytes of heap that may stay behind of a job: less than the smallest thing that is made for one. */
const mostPerJob = 1_024;
/** Pools keep a connection for half of this after its last use. */
const idleConnectionMs = 60_000;
/** Hundreds of jobs, one after the other, also on a slow machine. */
const testTimeoutMs = 600_000;

describe('resources after a hundred jobs with viewers', () => {
  let database: TestDatabase;
  let model: ScriptedModel;
  let engine: TestEngine;
  let owner: MemberPrincipal;
  let timers: OpenTimers;

  beforeAll(async () => {
    timers = new OpenTimers();
    database = await createTestDatabase();
    model = await ScriptedModel.start();
    model.stopRecording();
    const call = toolCallReply([{ id: 'call_1', name: 'calculate', arguments: '{"expression":"6*7"}' }]);
    const text = textReply(Array.from({ length: 50 }, (_, n) => `word ${n} `));
    model.answer(({ body }) => (body.includes('"role":"tool"') ? text : call));
    const asking = toolCallReply([{ id: 'call_1', name: 'get_current_time', arguments: '{}' }]);
    model.answer(({ body }) => (body.includes('wait for a person') ? asking : undefined));
    ({ owner } = await openTestIdentities(database).workspaceOf('acme'));
    await database.postgres.withWorkspaceSql(owner.workspaceId, (client) =>
      client.query('UPDATE workspace SET max_jobs = 1000, max_jobs_per_user = 1000'),
    );
    engine = await startTestEngine(database, { MODEL_BASE_URL: model.url, WORKER_SLOTS: '50' });
  });

  afterAll(async () => {
    await engine.close();
    await model.close();
    await database.close();
    timers.stop();
  });

  /** Starts a hundred jobs, each with a viewer who stays, one who comes late and one who leaves in the middle. */
  const runMany = async () => {
    const run = async (n: number) => {
      const { jobId } = await engine.app.get(ChatService).start(owner, chat(`job ${n}`, ['calculate']));
      const view = (after: number): Viewer =>
        watch(engine.app.get(EventFeed), { workspaceId: owner.workspaceId, jobId }, after);
      const [first, deserter] = [view(0), view(0)];
      await deserter.saw('job-started');
      deserter.leave();
      await Promise.all([first.ended, deserter.ended]);
      const late = view(2);
      await late.ended;
      expect(late.events.length).toBe(first.events.length - 2);
    };
    await Promise.all(Array.from({ length: jobsAtOnce }, (_, n) => run(n)));
    await eventually('no job is held any more', () => (sizes().active === 0 ? true : undefined));
  };
  /** Everything that grows while jobs run, and has to be back when they are over. */
  const sizes = () => {
    const { app } = engine;
    const runner = app.get(JobRunner);
    return {
      active: sizeOf(runner, 'active'),
      leases: sizeOf(runner, 'keeper', 'held'),
      leaseTimer: Reflect.get(child(runner, 'keeper'), 'timer') === undefined ? 0 : 1,
      starting: app.get(JobStarter).starting,
      conversations: sizeOf(app.get(ConversationRepository), 'batches'),
      logWriter: Number(Reflect.get(child(app.get(EventLog), 'writer'), 'busy')),
      tails: app.get(EventFeed).tails,
      listeners: sizeOf(app.get(LocalEvents), 'listeners'),
    };
  };
  const viewers = async () => {
    const text = await engine.platform.metrics.registry.getSingleMetricAsString('nightshift_viewers');
    return Number(text.trim().split(' ').at(-1));
  };
  const sockets = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;

  it(
    'leave no lease, viewer, tail, timer or heap behind',
    async () => {
      const idle = sizes();
      const idleTimers = await eventually('the worker looks for jobs', () => timers.count || undefined);
      expect(idle).toEqual(Object.fromEntries(Object.keys(idle).map((name) => [name, 0])));
      for (let n = 0; n < jobsToWarmUp / jobsAtOnce; n++) await runMany();
      const socketsBefore = sockets();
      const heaps = [heapAfterGc()];
      for (let n = 0; n < measures; n++) {
        await runMany();
        await runMany();
        heaps.push(heapAfterGc());
      }
      expect(sizes()).toEqual(idle);
      expect(await viewers()).toBe(0);
      await eventually('all timers are gone', () => (timers.count <= idleTimers ? true : undefined));
      const noMore = () => (sockets() <= socketsBefore ? true : undefined);
      await eventually('all sockets are gone', noMore, idleConnectionMs);
      expect(growth(heaps) / (2 * jobsAtOnce)).toBeLessThan(mostPerJob);
    },
    testTimeoutMs,
  );

  it(
    'leave no lease, timer or heap of a job that waits for a person',
    async () => {
      const policy = { rules: [{ match: 'get_current_time', action: 'require_approval' }] };
      await engine.app.get(ApprovalPoliciesService).save(owner, { policy, expectedVersion: null });
      const before = await eventually('no job is held', () => (sizes().active === 0 ? sizes() : undefined));
      const timersBefore = timers.count;
      const askMany = async (inAll: number) => {
        const question = chat('wait for a person', ['get_current_time']);
        await Promise.all(Array.from({ length: jobsAtOnce }, () => engine.app.get(ChatService).start(owner, question)));
        await eventually(`${inAll} jobs wait`, async () => {
          const { rows } = await engine.platform.postgres.workerPool.query<{ jobs: number }>(
            `SELECT count(*)::int AS jobs FROM job WHERE status = 'waiting'`,
          );
          return rows[0]?.jobs === inAll && sizes().active === 0 ? true : undefined;
        });
        return heapAfterGc();
      };
      const heaps: number[] = [];
      for (let n = 1; n <= waitingWarmUps + waitingMeasures; n++) {
        const heap = await askMany(n * jobsAtOnce);
        if (n > waitingWarmUps) heaps.push(heap);
      }
      expect(sizes()).toEqual(before);
      await eventually('all timers are gone', () => (timers.count <= timersBefore ? true : undefined));
      expect(growth(heaps) / jobsAtOnce).toBeLessThan(mostPerJob);
    },
    testTimeoutMs,
  );
});

/** Bytes that each measure has added: between the medians of the first three and the last three. */
function growth(heaps: readonly number[]): number {
  return (median(heaps.slice(-3)) - median(heaps.slice(0, 3))) / (heaps.length - 3);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

/** A member that the class keeps to itself. */
function child(owner: object, name: string): object {
  const value: unknown = Reflect.get(owner, name);
  if (typeof value !== 'object' || value === null) throw new Error(`there is no ${name} to look at`);
  return value;
}

function sizeOf(owner: object, ...path: readonly string[]): number {
  const size: unknown = Reflect.get(path.reduce(child, owner), 'size');
  if (typeof size !== 'number') throw new Error(`${path.join('.')} has no size`);
  return size;
}

setFlagsFromString('--expose-gc');
const collect: unknown = runInNewContext('gc');

/** V8 compiles functions again for as long as they run, up to 1 KB for each job of a test. These spaces contain no objects. */
const codeSpaces = /^(shared_)?(code|trusted)_/;

/** Bytes of objects. Twice, because finalizers free more. */
function heapAfterGc(): number {
  if (typeof collect !== 'function') throw new Error('start Node with --expose-gc');
  for (let n = 0; n < 2; n++) Reflect.apply(collect, undefined, []);
  const spaces = getHeapSpaceStatistics().filter(({ space_name: name }) => !codeSpaces.test(name));
  return spaces.reduce((bytes, { space_used_size: used }) => bytes + used, 0);
}
