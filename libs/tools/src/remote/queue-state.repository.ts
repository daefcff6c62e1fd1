import { Injectable } from '@nestjs/common';

import type { LockedJob } from '#jobs';
import { appendAudit, Config, Queues, TOOL_QUEUES } from '#platform';

import type { CancelRequest } from './queue-message.js';
import { callsAgainSql, requestId, selectRequestsSql } from './request-message.part.js';

/** The state of a call in the tool queue, by the database's clock, under the lock of its job. */
export interface QueueState {
  /** A tool process has claimed it since it was sent. */
  readonly isTaken: boolean;
  /** The claim of the call has expired. */
  readonly isLost: boolean;
  /** The call has waited longer than its limit. */
  readonly isLate: boolean;
  /** Claims since it was sent. */
  readonly attempts: number;
  readonly epoch: number;
  /**
   * The id of the message that requests the next attempt; `takenId` is the id of the message that requested the current one. A cancel request
   * also increases the epoch.
   */
  readonly requestId: string;
  readonly takenId: string;
  readonly owner: string | null;
  readonly cancelRequested: boolean;
  /** The cancellation of the call was requested, and the time to stop has passed. */
  readonly isOverdue: boolean;
  readonly progressSeq: number;
  readonly progressShown: number;
  /** Time in ms since progress was last shown; null: never. */
  readonly shownMsAgo: number | null;
}

/** How long a call may take to end after its cancellation, in ms. */
export const CANCEL_GRACE_MS = 10_000;

const stateSql = `SELECT exec_until IS NOT NULL AS "isTaken", coalesce(exec_until < clock_timestamp(), false) AS "isLost",
    exec_until IS NULL AND queued_at < clock_timestamp() - $3::int * interval '1 ms' AS "isLate", exec_attempts AS attempts,
    exec_epoch AS epoch, ${requestId('id', 'exec_epoch')} AS "requestId", ${requestId('id', '(exec_epoch - 1 - (cancel_requested_at IS NOT NULL)::int)')} AS "takenId", split_part(exec_owner, '#', 1) AS owner, cancel_requested_at IS NOT NULL AS "cancelRequested",
    coalesce(cancel_requested_at < clock_timestamp() - ${CANCEL_GRACE_MS} * interval '1 ms', false) AS "isOverdue",
    progress_seq AS "progressSeq", progress_shown AS "progressShown",
    (extract(epoch FROM clock_timestamp() - progress_at) * 1000)::float8 AS "shownMsAgo"
  FROM tool_call WHERE workspace_id = $1 AND id = $2 AND status = 'running' AND executor = 'queue'`;

const resendSql = `${selectRequestsSql(callsAgainSql('tool_call', '$4::int', "$3::int * interval '1 ms'"))}
 WHERE t.workspace_id = $1 AND t.id = $2`;

/** The priority of cancel requests. Tool processes read them even without a free slot. */
export const CANCEL_PRIORITY = 100;

/** Changes the queue's columns of the ledger without a claim, in the transaction that locks the job's row, with the role of the API. */
@Injectable()
export class QueueStateRepository {
  constructor(
    private readonly config: Config,
    private readonly queues: Queues,
  ) {}

  /** How long a call may wait until a process claims it, in ms. */
  get ttlMs(): number {
    return this.config.values.TOOL_QUEUE_TTL_MS;
  }

  /** How long a process that does not renew keeps its claim, in ms. */
  get leaseMs(): number {
    return this.config.values.LEASE_MS;
  }

  /** Returns null if the call does not run in the queue. */
  async find({ client, workspaceId }: LockedJob, id: string): Promise<QueueState | null> {
    const [state] = await client.$queryRawUnsafe<QueueState[]>(stateSql, workspaceId, id, this.ttlMs);
    return state ?? null;
  }

  /** Enqueues a call that no worker has claimed once more. If its request is still in the queue, no second one is added. */
  async sendAgain(locked: LockedJob, id: string): Promise<void> {
    await this.send(locked, id, 0);
  }

  /** Enqueues a lost call again. A process can claim it after `delayMs`. */
  async retry(locked: LockedJob, id: string, delayMs: number): Promise<void> {
    const { client, workspaceId } = locked;
    await client.$executeRawUnsafe(
      `UPDATE tool_call SET exec_until = NULL, exec_owner = NULL, queued_at = clock_timestamp()
        WHERE workspace_id = $1 AND id = $2`,
      workspaceId,
      id,
    );
    await this.send(locked, id, delayMs);
  }

  /** Removes a call from the queue as if it had never been sent; later messages about it do not count. */
  async giveBack({ client, workspaceId }: LockedJob, id: string): Promise<void> {
    await client.toolCall.updateMany({
      where: { workspaceId, id, status: 'running', executor: 'queue' },
      data: {
        ...{ status: 'pending', executor: 'worker', execEpoch: { increment: 1 }, execOwner: null, execUntil: null },
        ...{ execAttempts: 0, queuedAt: null, startedAt: null, startedEpoch: null, executedArguments: null },
      },
    });
  }

  /** Withdraws the right to submit a result, and notifies the tool processes to stop the call. */
  async withdraw({ client, workspaceId, jobId }: LockedJob, id: string, issuedBy: string): Promise<void> {
    await client.$executeRawUnsafe(
      `UPDATE tool_call SET cancel_requested_at = clock_timestamp(), exec_epoch = exec_epoch + 1
        WHERE workspace_id = $1 AND id = $2`,
      workspaceId,
      id,
    );
    const message: CancelRequest = {
      type: 'cancel_request',
      correlation_id: id,
      workspace_id: workspaceId,
      job_id: jobId,
      issued_by: issuedBy,
      timestamp: Date.now(),
    };
    await this.queues.send(client, TOOL_QUEUES.requests, [{ data: message, priority: CANCEL_PRIORITY }]);
  }

  /** Records that the process that claimed the call certainly had no effect. */
  async neverStarted({ client, workspaceId }: LockedJob, id: string): Promise<void> {
    await client.toolCall.updateMany({ where: { workspaceId, id }, data: { startedAt: null } });
  }

  /** Records that progress up to `seq` was shown. */
  async shown({ client, workspaceId }: LockedJob, id: string, seq: number): Promise<void> {
    await client.$executeRawUnsafe(
      `UPDATE tool_call SET progress_seq = $3, progress_shown = progress_shown + 1, progress_at = clock_timestamp()
        WHERE workspace_id = $1 AND id = $2`,
      workspaceId,
      id,
      seq,
    );
  }

  /** Whether a request about the call is open, or a person decided to leave its outcome unknown. */
  async wasAsked({ client, workspaceId }: LockedJob, id: string): Promise<boolean> {
    const asked = await client.interrupt.findFirst({
      where: {
        ...{ workspaceId, toolCallId: id },
        OR: [{ status: 'open' }, { outcome: { path: ['outcome'], equals: 'report' } }],
      },
      select: { id: true },
    });
    return asked !== null;
  }

  /** Records in the append-only audit log who sent a call again. */
  async recordRedrive({ client, workspaceId }: LockedJob, id: string, by: string): Promise<void> {
    const subject = { subjectType: 'ToolCall', subjectId: id };
    await appendAudit(client, { workspaceId, actor: by, action: 'tool-call-redriven', ...subject });
  }

  private async send({ client, workspaceId }: LockedJob, id: string, delayMs: number): Promise<void> {
    await this.queues.start();
    const text = this.queues.insertionOf(TOOL_QUEUES.requests, resendSql);
    await client.$executeRawUnsafe(text, workspaceId, id, delayMs, this.ttlMs);
  }
}
