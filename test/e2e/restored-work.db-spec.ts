import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { JobQueue, voidRestoredLeases } from '#jobs';
import { openOwnerPrisma } from '#platform';
import { SchedulesService, ScheduleTimers, skipRestoredSlots } from '#schedules';
import { defineTool, interruptRestoredCalls, ToolRegistry } from '#tools';

import { LeaseRepository } from '../../libs/jobs/src/run/lease.repository.js';
import { type ApprovalStage, openApprovalStage } from '../harness/approval-stage.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { openTestJobs, type TestJobs } from '../harness/jobs.js';
import { createGate, textReply, toolCallReply } from '../harness/scripted-reply.js';
import { publish, sketch } from '../harness/workflows.js';

describe('voidRestoredLeases', () => {
  let database: TestDatabase;
  let jobs: TestJobs;
  let owner: ReturnType<typeof openOwnerPrisma>;

  beforeAll(async () => {
    database = await createTestDatabase();
    jobs = await openTestJobs(database);
    owner = openOwnerPrisma(database.urls.owner);
  });
  afterAll(async () => {
    await owner.$disconnect();
    await jobs.close();
    await database.close();
  });

  it('fences earlier workers and lets another worker claim the job at once', async () => {
    const leases = jobs.app.get(LeaseRepository);
    const [started] = await jobs.start(1);
    const jobId = started?.jobId ?? '';
    const before = await jobs.claim(jobId, 'a worker of before');
    const ref = { workspaceId: jobs.workspaceId, jobId };
    expect((await leases.claim([ref], 'too early')).claimed).toEqual([]);

    await voidRestoredLeases(owner);

    expect((await leases.renew([{ ...ref, epoch: before.epoch }])).size).toBe(0);
    const after = await jobs.claim(jobId, 'a worker of after');
    expect(after.epoch).toBeGreaterThan(before.epoch + 1_000);
  });

  it('leaves ended jobs unchanged and removes viewers', async () => {
    const [started] = await jobs.start(1);
    const jobId = started?.jobId ?? '';
    const { workspaceId } = jobs;
    await owner.job.updateMany({ where: { id: jobId }, data: { status: 'cancelled', finishedAt: new Date() } });
    await owner.jobViewer.createMany({ data: [{ workspaceId, jobId, process: jobId, seenAt: new Date() }] });

    await voidRestoredLeases(owner);

    expect(await jobs.rows('SELECT lease_epoch FROM job WHERE id = $1', [jobId])).toEqual([{ lease_epoch: 0 }]);
    expect(await owner.jobViewer.count()).toBe(0);
  });
});

describe('restored backup', () => {
  let stage: ApprovalStage;
  let owner: ReturnType<typeof openOwnerPrisma>;
  const gate = createGate();
  /** Keys that the tool was called with. */
  const keys: string[] = [];

  beforeAll(async () => {
    stage = await openApprovalStage({ LOG_LEVEL: 'silent' });
    owner = openOwnerPrisma(stage.database.urls.owner);
    stage.engine.app.get(ToolRegistry).register(
      defineTool({
        ...{ name: 'pay', description: 'Pays', input: { type: 'object' }, timeoutMs: 60_000 },
        execute: async (_, { idempotencyKey }) => {
          keys.push(idempotencyKey);
          await gate.opened;
          return 'paid';
        },
      }),
    );
  });
  afterEach(() => {
    stage.model.assertDone();
  });
  afterAll(async () => {
    gate.open();
    await owner.$disconnect();
    await stage.close();
  });

  it('requests a decision about a once call that was about to start', async () => {
    stage.model.enqueue(toolCallReply([{ id: 'a', name: 'pay', arguments: '{}' }]), textReply(['Done.']));
    const { jobId } = await stage.ask(['pay']);
    await eventually('the call runs', () => keys[0]);
    await owner.toolCall.updateMany({ where: { jobId }, data: { status: 'pending', startedAt: null } });
    await voidRestoredLeases(owner);
    await interruptRestoredCalls(owner);
    stage.engine.app.get(JobQueue).hint({ workspaceId: stage.people.owner.workspaceId, jobId, kind: 'chat' });

    const [interrupt] = await stage.waits(jobId);

    expect(interrupt).toMatchObject({ kind: 'unknown_outcome', tool: 'pay' });
    expect(keys).toHaveLength(1);
    if (interrupt !== undefined) await stage.decide(stage.people.member, interrupt, { decision: 'did_not_happen' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed' });
    expect(keys).toHaveLength(1);
  });

  it('starts no schedule slot between the backup and the restore', async () => {
    const { app } = stage.engine;
    const document = sketch({ out: { type: 'output', format: 'text' } }, ['start -> out'], { name: 'Echo' });
    const { id: workflowRef } = await publish(stage.engine, stage.people.owner, document);
    const { id } = await app.get(SchedulesService).save(stage.people.owner, {
      ...{ id: null, workflowRef, cron: '0 0 1 1 *', timeZone: 'UTC', missed: 'all', prompt: 'Hi', enabled: true },
    });
    await owner.$executeRaw`UPDATE workflow_schedule SET next_slot_at = next_slot_at - interval '3 years' WHERE id = ${id}::uuid`;
    // An expression that an earlier version accepted must not fail the restore.
    await owner.$executeRaw`INSERT INTO workflow_schedule SELECT (jsonb_populate_record(s, jsonb_build_object(
      'id', gen_random_uuid(), 'cron', '*/90 * * * *'))).* FROM workflow_schedule s WHERE id = ${id}::uuid`;

    await skipRestoredSlots(owner, Date.now());
    await app.get(ScheduleTimers).sweep();

    expect(await stage.rows(`SELECT 1 FROM job WHERE kind = 'workflow'`)).toEqual([]);
    expect(await owner.schedule.count({ where: { id, enabled: true, nextSlotAt: { gt: new Date() } } })).toBe(1);
  });
});
