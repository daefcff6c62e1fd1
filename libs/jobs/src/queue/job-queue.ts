import { Inject, Injectable } from '@nestjs/common';

import {
  type AddressedMessage,
  BUS,
  type Bus,
  type BusMessages,
  defined,
  type PrismaTransaction,
  type QueueHandler,
  Queues,
  type SqlStatement,
} from '#platform';

import { isJobKind, type JobKind, type JobRef } from '../job.js';

/** A job that may be claimable. */
type Runnable = JobRef & { readonly kind: string };

/**
 * The job queues, one for each kind, and the hints about jobs. A message contains the id of a job that may be runnable, and is sent in the
 * transaction that makes it runnable. A job that is accepted as claimed has no message. The hint after the commit is faster, but can be lost.
 * Neither message nor hint carries state. If both are lost, the sweeper finds the job.
 */
@Injectable()
export class JobQueue {
  constructor(
    private readonly queues: Queues,
    @Inject(BUS) private readonly bus: Bus,
  ) {}

  /** Call it before `insertions`, `insertionOf` and `startInsertionOf`. May be called again. */
  start(): Promise<void> {
    return this.queues.start();
  }

  /** Sends the message of a job in the transaction `tx`. */
  async send(tx: PrismaTransaction, { kind, workspaceId, jobId }: Runnable): Promise<void> {
    await this.sendAll(tx, [runnableMessage({ kind, workspaceId, jobId })]);
  }

  /** Sends messages of any queue in the transaction `tx`. */
  async sendAll(tx: PrismaTransaction, messages: readonly AddressedMessage[]): Promise<void> {
    if (messages.length > 0) await this.queues.sendAll(tx, messages);
  }

  /** The statements that send messages, for a transaction whose statements are sent together. */
  insertions(messages: readonly AddressedMessage[]): SqlStatement[] {
    return this.queues.insertions(messages);
  }

  /** The statement that sends the messages that `select` produces, as a part of a commit. */
  insertionOf(queue: 'hook.action' | 'tool-execution' | 'webhook.deliver', select: string): string {
    return this.queues.insertionOf(queue, select);
  }

  /**
   * Like `insertionOf`, for new jobs of `kind`; `select` returns the `workspace_id` and the `id` of each. The message has the job's id, so
   * that a repeated start sends no second message.
   */
  startInsertionOf(kind: JobKind, select: string): string {
    const messages = `SELECT j.id, json_build_object('workspaceId', j.workspace_id, 'jobId', j.id) AS data FROM (${select}) j`;
    return this.queues.insertionOf(queueOf(kind), messages);
  }

  /** Delivers jobs of `kind` to `deliver`, at most `batchSize` at once. A batch that rejects is delivered again. */
  handle(kind: JobKind, batchSize: number, deliver: (jobs: readonly JobRef[]) => Promise<void>): Promise<QueueHandler> {
    return this.queues.handle(queueOf(kind), { batchSize }, deliver);
  }

  /** Publishes a hint about a job: workers with a free slot claim it. Call it after the commit that made the job runnable. */
  hint({ workspaceId, jobId, kind }: Runnable): void {
    this.bus.publish('job-runnable', { workspaceId, jobId, kind });
  }

  /** Publishes that a job's log has grown, and its status may have changed, without a worker. */
  hintGrown(message: BusMessages['job-events']): void {
    this.bus.publish('job-events', message);
  }

  /** Publishes that requests to people or clients were opened or settled. */
  hintInterrupts(workspaceId: string): void {
    this.bus.publish('interrupts-changed', { workspaceId });
  }

  /** Publishes a hint about sub-jobs of the job. Call it after the commit that sent `subJobsDue`. */
  hintSubJobs({ workspaceId, jobId }: JobRef): void {
    this.bus.publish('sub-jobs', { workspaceId, jobId });
  }

  hintCancel(message: BusMessages['job-cancel']): void {
    this.bus.publish('job-cancel', message);
  }
}

export function runnableMessage({ workspaceId, jobId, kind }: Runnable): AddressedMessage {
  return { queue: queueOf(kind), data: { workspaceId, jobId } };
}

/** The message that sub-jobs of this job need attention; `startAfter`: not before this instant (ms since the epoch). */
export function subJobsDue({ workspaceId, jobId }: JobRef, startAfter?: number): AddressedMessage {
  return { queue: 'sub-job.due', data: { workspaceId, jobId }, ...defined({ startAfter }) };
}

/** The message about a job whose conversation is in another system and whose handler does not run at its end. */
export function externalEnd({ workspaceId, jobId }: JobRef): AddressedMessage {
  return { queue: 'job.external-end', data: { workspaceId, jobId } };
}

function queueOf(kind: string): `job.${JobKind}` {
  if (!isJobKind(kind)) throw new Error(`no queue for jobs of kind ${kind}`);
  return `job.${kind}`;
}
