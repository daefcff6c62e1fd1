import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type ActionContext, defineHook, type HookDefinition } from '@nightshift/plugin';
import type { TestServer } from '@nightshift/plugin/testing';

import {
  ActionRowsRepository,
  EventActions,
  insertInterrupt,
  interruptOpened,
  JobStopper,
  JobUpdater,
  type NewInterrupt,
  openInterruptRow,
} from '#jobs';
import { createLogger, DEAD_ACTIONS, Metrics, newId, Redactor, systemClock } from '#platform';

import { EventLogRepository } from '../../libs/jobs/src/events/event-log.repository.js';
import { ActionHooks } from '../../libs/tools/src/hooks/action-hooks.js';
import { Hooks } from '../../libs/tools/src/hooks/hooks.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { documentExample } from '../harness/document-example.js';
import { eventually } from '../harness/eventually.js';
import { endOf, openTestJobs, type TestJobs, writeOf } from '../harness/jobs.js';
import { type NotificationStage, notificationStage } from '../harness/notifications.js';
import { startPluginServer } from '../harness/plugin-server.js';

describe('server with actions', () => {
  const plugin = (file: string) => `import { appendFileSync } from 'node:fs';
import { defineHook, definePlugin, defineTool } from '@nightshift/plugin';

const note = (line) => appendFileSync(${JSON.stringify(file)}, JSON.stringify(line) + '\\n');
const seen = (on) => defineHook({
  on, name: 'seen-' + on,
  run: ({ jobId, interrupt, job, notification }) => note({ on, jobId, row: interrupt ?? job ?? notification }),
});
const flaky = defineHook({
  on: 'onJobFinished', name: 'flaky', match: 'job.reason == "stop"',
  run({ jobId }, { attempt, idempotencyKey }) {
    note({ on: 'flaky', jobId, attempt, idempotencyKey });
    if (attempt === 1) throw new Error('down');
  },
});
const hangs = defineHook({
  on: 'onJobFinished', name: 'hangs', timeoutMs: 60_000,
  run({ jobId }, { attempt, idempotencyKey }) {
    note({ on: 'hangs', jobId, attempt, idempotencyKey });
    return attempt === 1 ? new Promise(() => undefined) : undefined;
  },
});
const pay = defineTool({ name: 'pay', description: 'Pays.', input: { type: 'object' }, execute: () => 'paid' });
const asks = defineHook({ on: 'beforeToolCall', name: 'asks', run: () => ({ requireApproval: 'a test' }) });
export default definePlugin({
  name: 'acme', version: '1', tools: [pay],
  hooks: [...['onInterrupt', 'onJobFinished', 'onNotification'].map(seen), flaky, hangs, asks],
});
`;

  let folder: string;
  let file: string;
  let server: TestServer;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'nightshift-action-hooks-'));
    file = join(folder, 'seen.txt');
    mkdirSync(join(folder, 'plugins'));
    writeFileSync(join(folder, 'plugins/acme.ts'), plugin(file));
    writeFileSync(join(folder, 'plugins/alerts.ts'), documentExample('docs/plugins.md', 'action'));
    server = await startPluginServer(folder);
  });
  beforeEach(() => {
    writeFileSync(file, '');
  });
  afterAll(async () => {
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  interface Line {
    readonly on: string;
    readonly jobId: string;
    readonly attempt: number;
    readonly idempotencyKey: string;
    readonly row: Readonly<Record<string, unknown>>;
  }

  /** What the hook has recorded about the job, as soon as there are `count` lines. */
  function recorded(on: string, jobId: string, count: number): Promise<readonly Line[]> {
    return eventually(
      `${on} has run ${count} times`,
      () => {
        const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
        const found = lines
          .map((line) => JSON.parse(line) as Line)
          .filter((line) => line.on === on && line.jobId === jobId);
        return found.length >= count ? found : undefined;
      },
      280_000,
    );
  }

  it('shows requests and the ends of jobs to hooks', async () => {
    server.model.reply([{ name: 'pay', arguments: {} }], 'done');
    const jobId = await server.start({ message: 'Pay', tools: ['pay'] });
    const [opened] = await recorded('onInterrupt', jobId, 1);
    const interrupt = opened?.row ?? {};
    expect(interrupt).toMatchObject({ kind: 'tool_approval', status: 'open', tool: 'pay', rootJobId: jobId });
    const approve = `mutation ($input: ResolveInterruptInput!) { resolveInterrupt(input: $input) { userErrors { message } } }`;
    const { argumentsHash } = interrupt['request'] as { readonly argumentsHash: string }; // docs/interrupts.md
    await server.graphql(approve, { input: { id: interrupt['id'], decision: 'APPROVE', argumentsHash } });
    expect((await server.finished(jobId)).status).toBe('completed');
    const [end] = await recorded('onJobFinished', jobId, 1);
    expect(end?.row).toMatchObject({ status: 'completed', toolCalls: 1, rounds: 2, parentJobId: null, error: null });
  });

  it('repeats a failed action with the same key, and does not delay the job', async () => {
    const { jobId, status } = await server.run({ message: 'Hello' });
    expect(status).toBe('completed');
    const runs = await recorded('flaky', jobId, 2);
    expect(runs.map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(new Set(runs.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
    expect(server.logs()).toContainEqual(expect.objectContaining({ msg: 'a hook failed', hook: 'flaky', jobId }));
  });

  it('runs an action again if the process was killed while it ran', async () => {
    const { jobId } = await server.run({ message: 'Hello' });
    await recorded('hangs', jobId, 1);
    await server.kill();
    await server.restart();
    const runs = await recorded('hangs', jobId, 2);
    expect(runs.map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(new Set(runs.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
  });
});

describe('action hooks', () => {
  let database: TestDatabase;
  let jobs: TestJobs;
  let stage: NotificationStage;
  let running: ActionHooks | null = null;

  beforeAll(async () => {
    database = await createTestDatabase();
    jobs = await openTestJobs(database);
    stage = notificationStage(jobs);
  });
  afterEach(async () => {
    await running?.stop();
    running = null;
    jobs.app.get(EventActions).register([]);
    await database.postgres.workerPool.query('DELETE FROM pgboss.job');
  });
  afterAll(async () => {
    await jobs.close();
    await database.close();
  });

  const logger = createLogger({ level: 'silent' });
  const files = { get: () => Promise.reject(new Error('no file is needed')) };
  const contexts = {
    servicesFor: () => ({ secrets: { get: () => Promise.resolve('') }, fetch: globalThis.fetch, logger, files }),
    userIdOf: () => Promise.resolve('u1'),
  };

  /** The actions of a process with these hooks. */
  function processWith(...hooks: readonly unknown[]): { actions: ActionHooks; metrics: Metrics } {
    const metrics = new Metrics();
    const plugin = { name: 'acme', secrets: [] };
    const registered = hooks.map((hook) => ({ plugin, hook: hook as HookDefinition })); // as a plugin exports it
    const host = { contexts, clock: systemClock, logger, metrics, redactor: new Redactor() };
    const { app, platform } = jobs;
    const [events, rows] = [app.get(EventActions), app.get(ActionRowsRepository)];
    const actions = new ActionHooks(new Hooks(registered, host), events, rows, platform.queues, logger, metrics);
    actions.onModuleInit();
    return { actions, metrics };
  }

  async function run(...hooks: readonly unknown[]): Promise<void> {
    running = processWith(...hooks).actions;
    await running.start();
  }

  interface Message {
    readonly name: string;
    readonly state: string;
    readonly data: Readonly<Record<string, unknown>>;
  }

  const messages = async () => {
    const { rows } = await database.postgres.workerPool.query<Message>(
      `SELECT name, state::text, data FROM pgboss.job WHERE name LIKE 'hook.action%' ORDER BY created_on`,
    );
    return rows;
  };
  const allHandled = () =>
    eventually('all messages are handled', async () => {
      const found = await messages();
      return found.every(({ state }) => state === 'completed') ? found.length : undefined;
    });

  const commit = (...writes: Parameters<EventLogRepository['commit']>[0]) =>
    jobs.app.get(EventLogRepository).commit(writes);
  const request = (): NewInterrupt => ({ id: newId(), kind: 'human_input', title: 'Continue?', request: { a: 1 } });

  /** Opens a request, and then ends the job. */
  async function runJob() {
    const job = await stage.startClaimed({ labels: { team: 'billing' } });
    const opened = request();
    await commit(writeOf(job, 1, { rows: [openInterruptRow(job, opened)], events: [interruptOpened(opened)] }));
    await stage.end(job, 2);
    return { jobId: job.jobId, interruptId: opened.id };
  }

  type Seen = { readonly hook: string; readonly event: object } & Pick<ActionContext, 'idempotencyKey' | 'attempt'>;

  /** A hook that records what it gets. */
  function recording(on: 'onInterrupt' | 'onJobFinished' | 'onNotification', seen: Seen[], more = {}): unknown {
    const hook = `${on}'s "hook" $1`;
    return defineHook({
      ...{ on, name: hook, ...more },
      run: (event, { idempotencyKey, attempt }) => {
        seen.push({ hook: on, event, idempotencyKey, attempt });
      },
    });
  }

  describe('actions of hooks', () => {
    it('run once for each request, end and notification, with the row', async () => {
      const seen: Seen[] = [];
      await run(...(['onInterrupt', 'onJobFinished', 'onNotification'] as const).map((on) => recording(on, seen)));
      const { jobId, interruptId } = await runJob();
      expect(await allHandled()).toBe(4);
      expect(seen.map(({ hook }) => hook).sort()).toEqual([
        ...['onInterrupt', 'onJobFinished', 'onNotification', 'onNotification'],
      ]);
      expect(new Set(seen.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(4);
      const job = { workspaceId: jobs.workspaceId, jobId, threadId: null, principal: 'system', userId: 'u1' };
      const eventsOf = (on: string) => seen.flatMap(({ hook, event }) => (hook === on ? [event] : []));
      expect(eventsOf('onInterrupt')).toMatchObject([
        {
          ...{ ...job, kind: 'chat', agent: null, workflow: null, labels: { team: 'billing' } },
          interrupt: { id: interruptId, kind: 'human_input', title: 'Continue?', request: { a: 1 }, rootJobId: jobId },
        },
      ]);
      expect(eventsOf('onJobFinished')).toMatchObject([
        { jobId, job: { status: 'completed', reason: 'stop', error: null, finishedAt: expect.any(Number) } },
      ]);
      const notified = eventsOf('onNotification') as { notification: { type: string } }[];
      expect(notified.map(({ notification: { type } }) => type).sort()).toEqual(['input_needed', 'job_completed']);
      expect(notified[0]).toMatchObject({ jobId, notification: { userId: jobs.userId, rootJobId: jobId } });
    });

    it('run for a cancelled job, and for a request that is opened without the lease', async () => {
      const seen: Seen[] = [];
      await run(recording('onInterrupt', seen), recording('onJobFinished', seen));
      const jobId = await stage.start();
      await jobs.app.get(JobStopper).stop(stage.scope, jobId);
      const other = await stage.startClaimed();
      const opened = request();
      await jobs.app.get(JobUpdater).update(other.workspaceId, other.jobId, async (held) => {
        held.send(...(await insertInterrupt(held.client, held, opened)));
        held.append(interruptOpened(opened));
      });
      expect(await allHandled()).toBe(2);
      expect(seen.map(({ event }) => event)).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ jobId, job: expect.objectContaining({ status: 'cancelled' }) }),
          expect.objectContaining({ interrupt: expect.objectContaining({ id: opened.id }) }),
        ]),
      );
    });

    it('do not run for events that do not match, for a refused write, or for a notification that does not exist', async () => {
      const seen: Seen[] = [];
      const failures = recording('onJobFinished', seen, { match: 'job.status == "failed"' });
      await run(failures, recording('onNotification', seen));
      const job = await stage.startClaimed({ createdBy: null });
      await jobs.expire(job.jobId);
      const next = await jobs.claim(job.jobId, 'another worker');
      await commit(endOf(job, 1));
      expect(await messages()).toEqual([]);
      await commit(endOf(next, 1));
      expect(await allHandled()).toBe(2);
      expect(seen).toEqual([]);
    });

    it('become a dead letter after five retries, each with the same key, and are counted', async () => {
      const seen: Seen[] = [];
      const throwing = defineHook({
        ...{ on: 'onJobFinished', name: 'throws' },
        run: (event, { idempotencyKey, attempt }) => {
          seen.push({ hook: 'throws', event, idempotencyKey, attempt });
          throw new Error('down');
        },
      });
      const { actions, metrics } = processWith(throwing);
      running = actions;
      await actions.start();
      const job = await stage.startClaimed();
      await stage.end(job);
      const [dead] = await eventually('there is a dead letter', async () => {
        // The backoff has passed.
        await database.postgres.workerPool.query(`UPDATE pgboss.job SET start_after = now() WHERE state = 'retry'`);
        const letters = (await messages()).filter(({ name }) => name === DEAD_ACTIONS);
        return letters.length === 0 ? undefined : letters;
      });
      expect(dead?.data).toMatchObject({ on: 'onJobFinished', hook: 'throws', jobId: job.jobId });
      expect(seen.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5, 6]);
      expect(new Set(seen.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
      expect(await metrics.registry.metrics()).toContain('nightshift_hook_dead_letters 1');
      expect(await jobs.rows('SELECT status, reason FROM job WHERE id = $1', [job.jobId])).toEqual([
        { status: 'completed', reason: 'stop' },
      ]);
    });

    it('end at their timeout, and are retried', async () => {
      const hanging = defineHook({
        ...{ on: 'onJobFinished', name: 'hangs', timeoutMs: 20 },
        run: () => new Promise<void>(() => undefined),
      });
      const { actions, metrics } = processWith(hanging);
      running = actions;
      await actions.start();
      await stage.end(await stage.startClaimed());
      await eventually('the message waits for its retry', async () => {
        const [message] = await messages();
        return message?.state === 'retry' ? message : undefined;
      });
      expect(await metrics.registry.metrics()).toMatch(
        /hook_runs_total\{hook="hangs",on="onJobFinished",outcome="timed_out"\} 1/,
      );
    });

    it('run again later if the worker does not have the hook', async () => {
      processWith(recording('onJobFinished', []));
      await stage.end(await stage.startClaimed());
      await run(recording('onInterrupt', []));
      await eventually('the message waits for its retry', async () => {
        const [message] = await messages();
        return message?.state === 'retry' ? message : undefined;
      });
    });

    it('send one message in a workspace with webhooks, too', async () => {
      await database.postgres.withWorkspaceSql(jobs.workspaceId, (client) =>
        client.query(
          `INSERT INTO webhook_endpoint (workspace_id, id, url, description, events, signature, headers, only_unwatched, include_content,
           secret_cipher, created_by, enabled)
         VALUES ($1, $2, 'https://example.org', '', '{job.completed}', 'standard', '{}', false, false, '', 'system', true)`,
          [jobs.workspaceId, newId()],
        ),
      );
      const seen: Seen[] = [];
      await run(recording('onJobFinished', seen));
      for (let i = 0; i < 2; i++) await stage.end(await stage.startClaimed());
      expect(await allHandled()).toBe(2);
      expect(seen).toHaveLength(2);
    });
  });

  describe('a process without actions', () => {
    it('sends no messages', async () => {
      running = processWith(defineHook({ on: 'beforeJobStart', name: 'filter', run: () => undefined })).actions;
      await running.start();
      await runJob();
      expect(await messages()).toEqual([]);
    });
  });
});
