import type { INestApplicationContext } from '@nestjs/common';

import type { MemberPrincipal } from '#auth';
import { insertInterrupt, interruptOpened, JobStarter, JobUpdater, type NewInterrupt } from '#jobs';
import { newId, Postgres } from '#platform';
import { newCallRow } from '#tools';

import { EventLogRepository } from '../../libs/jobs/src/events/event-log.repository.js';
import { LeaseRepository } from '../../libs/jobs/src/run/lease.repository.js';
import { claimOne } from './claim-one.js';
import { writeOf } from './jobs.js';

/** A job that holds no worker, with one call of its round; the test inserts it. */
export interface WaitingJob {
  readonly workspaceId: string;
  readonly jobId: string;
  readonly threadId: string;
  /** What the starter calls the thread. */
  readonly threadRef: string;
  readonly createdBy: string;
  readonly toolCallId: string;
}

/** The owner of the job and the name of its thread. */
export async function layOutWaitingJob(
  app: INestApplicationContext,
  principal: MemberPrincipal,
  threadRef = `thread ${newId()}`,
): Promise<WaitingJob> {
  const { workspaceId, userId: createdBy } = principal;
  const jobId = newId();
  await app.get(JobStarter).start(startRequest(principal, { jobId, threadRef }));
  const job = await claimOne(app.get(LeaseRepository), { workspaceId, jobId }, 'a worker');
  if (job?.threadId == null) throw new Error('the job cannot be claimed');
  const [written] = await app.get(EventLogRepository).commit([writeOf(job, 1, { rows: [newCallRow(job, 1, call)] })]);
  if (written instanceof Error) throw written;
  const { workerPool } = app.get(Postgres);
  const { rows } = await workerPool.query<{ id: string }>('SELECT id FROM tool_call WHERE job_id = $1', [jobId]);
  await workerPool.query(`UPDATE job SET status = 'waiting', lease_owner = NULL, lease_until = NULL WHERE id = $1`, [
    jobId,
  ]);
  return { workspaceId, jobId, threadId: job.threadId, threadRef, createdBy, toolCallId: rows[0]?.id ?? '' };
}

/** Opens an interrupt of a waiting job and publishes it; a human input without a tool call unless `changes` differ. Gives its id. */
export async function openInterrupt(
  app: INestApplicationContext,
  job: WaitingJob,
  changes: Partial<NewInterrupt> = {},
): Promise<string> {
  const { workspaceId, jobId, threadId, createdBy: requester } = job;
  const asked: NewInterrupt = {
    ...{ id: newId(), kind: 'human_input', title: 'Continue?', threadId, requester },
    request: { mode: 'approval', prompt: 'Continue?' },
    ...changes,
  };
  await app.get(JobUpdater).update(workspaceId, jobId, async (held) => {
    held.send(...(await insertInterrupt(held.client, held, asked)));
    held.append(interruptOpened(asked));
  });
  return asked.id;
}

/** Makes a waiting job a sub-job of another one, with its interrupts. */
export async function makeSubJob(app: INestApplicationContext, { jobId }: WaitingJob, root: WaitingJob): Promise<void> {
  const { workerPool } = app.get(Postgres);
  const places = [jobId, root.jobId, root.toolCallId];
  await workerPool.query(
    'UPDATE job SET depth = 1, parent_job_id = $2, root_job_id = $2, parent_call_id = $3 WHERE id = $1',
    places,
  );
  await workerPool.query('UPDATE interrupt SET root_job_id = $2 WHERE job_id = $1', places.slice(0, 2));
}

const call = {
  ordinal: 1,
  callId: 'call_1',
  name: 'ask_person',
  arguments: '{"question":"Continue?"}',
  status: 'pending',
  effect: 'idempotent',
  runtime: 'server',
  result: null,
  error: null,
  ranMs: null,
} as const;

function startRequest(
  { id: principal, workspaceId, userId: createdBy }: MemberPrincipal,
  { jobId, threadRef }: { readonly jobId: string; readonly threadRef: string },
) {
  return {
    jobId,
    workspaceId,
    kind: 'chat',
    principal,
    createdBy,
    thread: { ref: threadRef, createTitle: 'Test' },
    messageClientId: `message of ${jobId}`,
    model: 'scripted',
    input: { messages: [] },
    keyCipher: null,
    retryOf: null,
    idempotency: null,
  } as const;
}
