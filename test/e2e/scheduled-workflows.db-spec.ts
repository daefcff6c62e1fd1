import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { SchedulesService, ScheduleTimers } from '#schedules';

import { eventually } from '../harness/eventually.js';
import { openWorkflowStage, type WorkflowStage } from '../harness/workflow-stage.js';

let stage: WorkflowStage;
let timers: ScheduleTimers;

beforeAll(async () => {
  stage = await openWorkflowStage();
  timers = stage.engine.app.get(ScheduleTimers);
  await timers.start();
});
afterAll(async () => {
  await timers.stop();
  await stage.close();
});

const out = { type: 'output', format: 'text', template: 'Out: {{input}}' };

/** A schedule of the workflow that comes right now. Gives the job it starts. */
async function comes(workflowRef: string): Promise<string> {
  const terms = {
    cron: '* * * * *',
    timeZone: 'Europe/Berlin',
    missed: 'once',
    prompt: 'Hello',
    enabled: true,
  } as const;
  const schedules = stage.engine.app.get(SchedulesService);
  const { owner } = stage.people;
  const { id } = await schedules.save(owner, { id: null, workflowRef, ...terms });
  const back = `UPDATE workflow_schedule SET next_slot_at = next_slot_at - interval '1 minute' WHERE id = $1`;
  await stage.database.postgres.withWorkspaceSql(owner.workspaceId, (client) => client.query(back, [id]));
  await timers.sweep();
  const jobId = await eventually('the schedule has started a job', async () => {
    const [slot] = await schedules.slots(owner, id, 1);
    return slot?.jobId ?? undefined;
  });
  await schedules.remove(owner, id);
  return jobId;
}

describe('scheduled workflow', () => {
  it('runs to its end without a requester', async () => {
    const jobId = await comes(await stage.publish({ out }, ['start -> out']));
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Out: Hello' });
  });

  it('runs tools as the system principal', async () => {
    const sum = { type: 'tool', toolId: 'calculate', config: { expression: '2 + 3' } };
    const jobId = await comes(await stage.publish({ sum, out }, ['start -> sum', 'sum -> out']));
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed' });
    expect((await stage.outputsOf(jobId))['sum']).toContain('5');
  });

  it('asks only the approvers for an approval', async () => {
    const ask = { type: 'approval', prompt: 'May it?' };
    const jobId = await comes(await stage.publish({ ask, out }, ['start -> ask', 'ask.output -> out']));
    const asked = (await stage.waitsAt(jobId)).get('ask');
    expect(asked).toMatchObject({ requester: null, jobId, rootJobId: jobId });
    if (asked === undefined) throw new Error('no approval was requested');
    await expect(stage.decide(stage.people.member, asked, { action: 'approve' })).rejects.toMatchObject({
      code: 'cannot_decide',
    });
    await stage.decide(stage.people.admin, asked, { action: 'approve' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed' });
  });
});
