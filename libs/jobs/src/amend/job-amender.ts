import { Injectable } from '@nestjs/common';

import type { SqlClient } from '#platform';

import { concernsInterrupts } from '../events/commit-part.js';
import type { NewJobEvent } from '../events/job-event.js';
import { isTerminal } from '../job.lifecycle.js';
import { JobQueue } from '../queue/job-queue.js';
import { AmendRepository, type InputMembers, type LockedRow } from './amend.repository.js';

/** A job whose row is locked: its status and what hangs on it stand still until the work is committed. */
export class HeldJob {
  readonly events: NewJobEvent[] = [];
  /** Whether something of the job has changed, besides what viewers are shown. */
  isAnswered = false;
  inputChanges: InputMembers | undefined;
  /** Why the job goes on, once something said so. */
  requeueReason: string | undefined;

  constructor(
    /** Bound to the workspace; everything asked here is in the transaction. */
    readonly client: SqlClient,
    readonly workspaceId: string,
    readonly jobId: string,
    readonly row: LockedRow,
  ) {}

  /** Whether the job can still be changed: it has not ended, and nobody is stopping it. */
  get isOpen(): boolean {
    return !isTerminal(this.row.status) && !this.row.cancelRequested;
  }

  /** Changes members of the input, which the next worker of a waiting job reads. */
  changeInput(members: InputMembers): void {
    this.inputChanges = { ...this.inputChanges, ...members };
  }

  append(event: NewJobEvent): void {
    this.events.push(event);
    this.isAnswered = true;
  }

  /** Shows viewers something that changes nothing. */
  show(event: NewJobEvent): void {
    this.events.push(event);
  }

  /** Lets a waiting job go on; a job that runs notices by itself. */
  requeue(reason: string): void {
    this.requeueReason ??= reason;
    this.isAnswered = true;
  }
}

/** What is hinted once a change is committed. */
interface Told {
  readonly workspaceId: string;
  readonly jobId: string;
  readonly kind: string;
  readonly seq: number;
  readonly requeue: boolean;
  /** Requests were opened or settled, or a worker that goes on meanwhile waits for what was changed. */
  readonly asks: boolean;
}

/**
 * Changes a job from outside its lease: a decision, a client's result, an answer of the isolated queue, an expiry. All of
 * them lock the job's row first and look afterwards, in statements of their own, so none can miss another or a worker that
 * goes to wait at this moment (reliability: a wake-up is never lost). What is appended and who is woken commits with the change.
 */
@Injectable()
export class JobAmender {
  constructor(
    private readonly repository: AmendRepository,
    private readonly queue: JobQueue,
  ) {}

  /** Null: no such job in the workspace. What `work` throws rolls everything back. It must not call anything external. */
  async amend<T>(workspaceId: string, jobId: string, work: (job: HeldJob) => Promise<T>): Promise<T | null> {
    const done = await this.repository.inWorkspace(workspaceId, async (client) => {
      const row = await this.repository.lock(client, workspaceId, jobId);
      if (row === null) return null;
      const job = new HeldJob(client, workspaceId, jobId, row);
      const result = await work(job);
      return { result, told: await this.store(job) };
    });
    if (done === null) return null;
    if (done.told !== null) this.tell(done.told);
    return done.result;
  }

  private async store(job: HeldJob) {
    const { client, workspaceId, jobId, row, events, requeueReason } = job;
    if (job.inputChanges !== undefined) await this.repository.changeInput(client, job, job.inputChanges);
    const requeue = requeueReason !== undefined && row.status === 'waiting';
    if (requeue) events.push({ type: 'job-requeued', body: { reason: requeueReason } });
    if (events.length === 0 && requeueReason === undefined) return null;
    if (isTerminal(row.status)) throw new Error(`job ${jobId} has ended and takes no more events`);
    const { lastSeq } = await this.repository.amend(client, job, { events, requeue, answers: job.isAnswered });
    if (requeue) await this.queue.send(client, { workspaceId, jobId, kind: row.kind });
    const asks = concernsInterrupts(events) || (job.isAnswered && row.status === 'running');
    return { workspaceId, jobId, kind: row.kind, seq: lastSeq, requeue, asks };
  }

  private tell(told: Told): void {
    const { workspaceId, jobId, kind, seq, requeue, asks } = told;
    if (asks) this.queue.hintInterrupts(workspaceId);
    this.queue.hintGrown({ workspaceId, jobId, seq, ...(requeue ? { status: 'queued' } : {}) });
    if (requeue) this.queue.hint({ workspaceId, jobId, kind });
  }
}
