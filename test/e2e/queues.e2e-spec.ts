import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { MemberPrincipal } from '#auth';
import { AgentsService } from '#chat';
import { jobKinds, JobStarter } from '#jobs';
import { SchedulesService } from '#schedules';
import { WorkflowsService } from '#workflows';

import { Changes } from '../../libs/triggers/src/inbound/changes.service.js';
import { TriggersService } from '../../libs/triggers/src/inbound/triggers.service.js';
import {
  type GivenChannel,
  NotificationChannels,
} from '../../libs/triggers/src/outbound/notifications/notification-channels.service.js';
import { startTestApi, type TestApi } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { openTestJobs, type TestJobs } from '../harness/jobs.js';
import { sendCalls } from '../harness/tool-queue.js';
import { publish, sketch } from '../harness/workflows.js';

/** Its action needs a queue message for each end of a job. */
const plugin = `import { defineHook, definePlugin } from '@nightshift/plugin';
export default definePlugin({ name: 'audit', version: '1', hooks: [
  defineHook({ on: 'onJobFinished', name: 'finished', run() {} }),
] });
`;

const channel: GivenChannel = {
  ...{ kind: 'webhook', address: 'https://hooks.example.com/', events: ['job_completed'], enabled: true },
  ...{ includeTitle: false, isWorkspaceWide: true },
};

describe('pg-boss in a running system', () => {
  let folder: string;
  let database: TestDatabase;
  let test: TestApi;
  /** A process that accepts jobs and runs none. */
  let accepting: TestJobs;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'nightshift-queues-'));
    mkdirSync(join(folder, 'node_modules'));
    symlinkSync(join(process.cwd(), 'node_modules', '@nightshift'), join(folder, 'node_modules', '@nightshift'));
    const file = join(folder, 'audit.mjs');
    writeFileSync(file, plugin);
    database = await createTestDatabase();
    test = await startTestApi(database, { env: { PLUGINS: file } });
    accepting = await openTestJobs(database);
  });

  afterAll(async () => {
    await accepting.close();
    await test.close();
    await database.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Queues with a message that a handler has completed, by pg-boss's own table. */
  const workedQueues = async () =>
    (
      await database.postgres.engine.query<{ name: string }>(
        `SELECT DISTINCT name FROM pgboss.job WHERE state = 'completed' AND name NOT LIKE '\\_\\_pgboss%' ORDER BY name`,
      )
    ).rows.map(({ name }) => name);

  /** A workflow that waits for a second, each minute and as a tool call. */
  const runWorkflow = async () => {
    const { owner } = await test.people.workspaceOf('queues');
    const pause = { type: 'wait', durationMs: 1_000 };
    const nodes = { pause, out: { type: 'output', format: 'text' } };
    const definition = sketch(nodes, ['start -> pause', 'pause -> out'], { name: 'Pause' });
    const { app } = test.api;
    const { principal, key } = owner;
    await app.get(NotificationChannels).save(principal, null, channel);
    const { id: workflowRef } = await publish({ app }, principal, definition);
    const terms = { cron: '* * * * *', timeZone: 'UTC', missed: 'once', prompt: 'Hello', enabled: true } as const;
    await app.get(SchedulesService).save(principal, { id: null, workflowRef, ...terms });
    await app.get(WorkflowsService).offerAsTool(principal, workflowRef, true);
    await app.get(AgentsService).create(principal, { name: 'Clerk', tools: ['workflow.*'] });
    const body = { agent: 'clerk', tool_name: 'workflow.pause', arguments: { input: 'Hello' } };
    expect((await test.call('POST', '/v1/tools/execute', { key, body })).status).toBe(200);
    await fireTriggers(principal, workflowRef);
  };

  /** A change that starts a workflow, and is sent to this server. */
  const fireTriggers = async (principal: MemberPrincipal, workflow: string) => {
    const { app } = test.api;
    const on = { collection: 'messages', events: ['create'] };
    const definitions = [
      { ...on, triggerId: 'starts', start: { kind: 'workflow', workflow } },
      { ...on, triggerId: 'sends', url: '/nowhere' },
    ];
    for (const definition of definitions) await app.get(TriggersService).save(principal, { definition, enabled: true });
    const change = { type: 'create', collection: 'messages', documentId: 'm-1', timestamp: 0 } as const;
    await app.get(Changes).publish(principal, 'default', [change]);
  };

  it('delivers each kind of background work to a handler registered with work', async () => {
    const expected = [
      ...['hook.action', 'interrupt.due', 'job.chat', 'job.due', 'job.workflow'],
      ...['maintenance.delayed-jobs', 'maintenance.hook-actions', 'maintenance.interrupts'],
      ...['maintenance.notifications', 'maintenance.retention'],
      ...['maintenance.schedules', 'maintenance.sub-jobs', 'maintenance.tool-queue'],
      ...['maintenance.triggers', 'maintenance.webhooks', 'notification.due'],
      ...['schedule.due', 'schedule.start', 'sub-job.due', 'tool-execution', 'tool-results'],
      ...['trigger.changes', 'trigger.start', 'webhook.deliver'],
    ];
    await accepting.app.get(JobStarter).start(accepting.request({ kind: 'chat', startAt: Date.now() + 1_000 }));
    for (const kind of jobKinds) await accepting.app.get(JobStarter).start(accepting.request({ kind }));
    await runWorkflow();
    await sendCalls(accepting.app, accepting.workspaceId, ['a tool that is gone']);

    const worked = await eventually('each queue was worked', async () => {
      const names = await workedQueues();
      return names.length < expected.length ? undefined : names;
    });
    expect(worked).toEqual(expected);
  });
});
