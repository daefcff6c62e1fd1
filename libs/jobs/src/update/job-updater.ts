import { Injectable } from '@nestjs/common';

import type { AddressedMessage, PrismaTransaction } from '#platform';

import { concernsInterrupts } from '../events/commit-part.js';
import { EventActions } from '../events/event-actions.repository.js';
import { webhookMessages } from '../events/event-webhooks.part.js';
import type { NewJobEvent } from '../events/job-event.js';
import { isTerminal } from '../job.lifecycle.js';
import { JobQueue } from '../queue/job-queue.js';
import { type InputMembers, JobUpdateRepository, type LockedRow } from './job-update.repository.js';

/** A job whose row is locked: its status, calls and requests do not change until the transaction commits. */
export class LockedJob {
  readonly events: NewJobEvent[] = [];
  readonly messages: AddressedMessage[] = [];
  /** Whether the change is more than an event for viewers. */
  concernsWorker = false;
  inputChanges: InputMembers | undefined;
  /** Why the job is re-queued; undefined if it is not. */
  requeueReason: string | undefined;

  constructor(
    /** Bound to the workspace and to the transaction. */
    readonly client: PrismaTransaction,
    readonly workspaceId: string,
    readonly jobId: string,
    readonly row: LockedRow,
  ) {}

  /** Whether the job can still be changed: it has not ended, and no cancel is requested. */
  get isOpen(): boolean {
    return !isTerminal(this.row.status) && !this.row.cancelRequested;
  }

  /** Changes members of the input, which the worker reads when a waiting job resumes. */
  changeInput(members: InputMembers): void {
    this.inputChanges = { ...this.inputChanges, ...members };
  }

  append(event: NewJobEvent): void {
    this.events.push(event);
    this.concernsWorker = true;
  }

  /** Appends an event for viewers that does not wake the worker. */
  show(event: NewJobEvent): void {
    this.events.push(event);
  }

  /** Sends queue messages with the change. */
  send(...messages: readonly AddressedMessage[]): void {
    this.messages.push(...messages);
  }

  /** Re-queues the job if it waits. A running job needs no queue message: it reads the change. */
  requeue(reason: string): void {
    this.requeueReason ??= reason;
    this.concernsWorker = true;
  }
}

/** The values that the hints after the commit need. */
interface CommittedChange {
  readonly workspaceId: string;
  readonly jobId: string;
  readonly kind: string;
  readonly seq: number;
  readonly requeue: boolean;
  /** Whether requests were opened or settled, or a running worker waits for this change. */
  readonly concernsRequests: boolean;
}

/**
 * Changes a job without its lease: a decision, a client's result, a result from the tool queue, an expiry. Each change locks the
 * job's row first and reads other rows in later statements, so it sees every earlier change, and a worker that is about to wait sees
 * this one: a wake-up is never lost. The events and the queue message commit with the change.
 */
@Injectable()
export class JobUpdater {
  constructor(
    private readonly repository: JobUpdateRepository,
    private readonly queue: JobQueue,
    private readonly actions: EventActions,
  ) {}

  /**
   * Returns null if the workspace has no such job. If `work` throws, everything is rolled back. `work` must not call anything outside the
   * database.
   */
  async update<T>(workspaceId: string, jobId: string, work: (job: LockedJob) => Promise<T>): Promise<T | null> {
    const done = await this.repository.inWorkspace(workspaceId, async (client) => {
      const row = await this.repository.lock(client, workspaceId, jobId);
      if (row === null) return null;
      const job = new LockedJob(client, workspaceId, jobId, row);
      const result = await work(job);
      return { result, change: await this.store(job) };
    });
    if (done === null) return null;
    if (done.change !== null) this.publish(done.change);
    return done.result;
  }

  private async store(job: LockedJob) {
    const { client, workspaceId, jobId, row, events, requeueReason } = job;
    await this.queue.sendAll(client, job.messages);
    if (job.inputChanges !== undefined) await this.repository.changeInput(client, job, job.inputChanges);
    const requeue = requeueReason !== undefined && row.status === 'waiting';
    if (requeue) events.push({ type: 'job-requeued', body: { reason: requeueReason } });
    if (events.length === 0 && requeueReason === undefined) return null;
    if (isTerminal(row.status)) throw new Error(`job ${jobId} has ended and takes no more events`);
    const update = { events, requeue, concernsWorker: job.concernsWorker };
    const { lastSeq, webhooks } = await this.repository.update(client, job, update);
    const actions = this.actions.messagesOf(job, events);
    await this.queue.sendAll(client, [...webhookMessages(workspaceId, webhooks), ...actions]);
    if (requeue) await this.queue.send(client, { workspaceId, jobId, kind: row.kind });
    const concernsRequests = concernsInterrupts(events) || (job.concernsWorker && row.status === 'running');
    return { workspaceId, jobId, kind: row.kind, seq: lastSeq, requeue, concernsRequests };
  }

  private publish(change: CommittedChange): void {
    const { workspaceId, jobId, kind, seq, requeue, concernsRequests } = change;
    if (concernsRequests) this.queue.hintInterrupts(workspaceId);
    this.queue.hintGrown({ workspaceId, jobId, seq, ...(requeue ? { status: 'queued' } : {}) });
    if (requeue) this.queue.hint({ workspaceId, jobId, kind });
  }
}
