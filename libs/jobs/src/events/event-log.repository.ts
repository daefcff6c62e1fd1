import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';

import {
  type AddressedMessage,
  Config,
  isTransient,
  Postgres,
  PrismaService,
  type SqlStatement,
  systemClock,
} from '#platform';

import { LeaseLost } from '../jobs.errors.js';
import { JobQueue, runnableMessage, subJobsDue } from '../queue/job-queue.js';
import type { InsertionOf } from './commit-part.js';
import { commitStatement, hasWebhookEvents, type JobMove, type JobWrite, toParameters } from './commit-statement.js';
import { EventActions } from './event-actions.repository.js';

/** The result of a committed write. */
export interface Written {
  /** The number before the first event of the write. Null if the database's reply was lost: then only the log contains the numbers. */
  readonly base: number | null;
  /** The log reaches at least to here. */
  readonly lastSeq: number;
  /** When the events were stored, ms since the epoch. */
  readonly at: number;
}

interface WrittenRow {
  readonly writeIndex: number;
  readonly base: number;
  readonly at: string;
}

/** About 3 s in total: enough for a restart of the server, and well below a lease. */
const pausesMs = [50, 100, 200, 400, 800, 1_600];

/**
 * Writes the logs of many jobs in one statement. If the writes also send queue messages, one transaction contains the statement and the
 * messages.
 */
@Injectable()
export class EventLogRepository {
  /** Workspaces that had a webhook endpoint within the last minute. Their events are written by the statement that adds webhooks. */
  private readonly withEndpoints = new LRUCache<string, true>({ max: 10_000, ttl: 60_000 });

  constructor(
    private readonly postgres: Postgres,
    private readonly prisma: PrismaService,
    private readonly config: Config,
    private readonly queue: JobQueue,
    private readonly actions: EventActions,
  ) {}

  /**
   * Commits `writes` (at most one write for each job) under their leases. Returns one entry per write: `Written`, or `LeaseLost` if the lease has
   * another epoch (or if a cancel is requested and the write is `unlessCancelled`). A failure of one job fails only this job. May be
   * called again after a lost reply: a write is applied once.
   */
  async commit(writes: readonly JobWrite[]): Promise<(Written | Error)[]> {
    try {
      return await this.commitTogether(writes);
    } catch (error) {
      const [only, ...others] = writes;
      if (only !== undefined && others.length === 0) return [await this.commitAlone(only, error)];
      return Promise.all(writes.map((write) => this.commitAlone(write, error)));
    }
  }

  /** The statement without webhooks drops the writes of workspaces with endpoints. Those writes are sent again with the other statement. */
  private async commitTogether(writes: readonly JobWrite[]): Promise<(Written | Error)[]> {
    const addWebhooks = writes.some((write) => hasWebhookEvents(write) && this.withEndpoints.has(write.workspaceId));
    const answers = await this.commitAll(writes, addWebhooks);
    if (addWebhooks) return answers;
    const dropped = writes.filter((write, i) => hasWebhookEvents(write) && answers[i] instanceof LeaseLost);
    if (dropped.length === 0) return answers;
    const again = await this.commitAll(dropped, true);
    dropped.forEach((write, i) => {
      const answer = again[i];
      if (answer === undefined || answer instanceof Error) return;
      answers[writes.indexOf(write)] = answer;
      this.withEndpoints.set(write.workspaceId, true);
    });
    return answers;
  }

  private async commitAll(writes: readonly JobWrite[], addWebhooks: boolean): Promise<(Written | Error)[]> {
    const insertionOf: InsertionOf = (queue, select) => this.queue.insertionOf(queue, select);
    const actions = writes.some(({ events }) => this.actions.concern(events)) ? this.actions : null;
    const statement = commitStatement(writes, insertionOf, { addWebhooks, actions });
    const values = toParameters(writes, this.config.values.JOB_TIMEOUT_MS);
    const rows = await this.run({ ...statement, values }, this.queue.insertions(toMessages(writes)));
    const answers: (Written | undefined)[] = writes.map(() => undefined);
    for (const { writeIndex, base, at } of rows) {
      const lastSeq = base + (writes[writeIndex]?.events.length ?? 0);
      answers[writeIndex] = { base, lastSeq, at: Math.round(Number(at)) };
    }
    return writes.map(({ jobId }, i) => answers[i] ?? new LeaseLost(jobId));
  }

  /** Without queue messages, the statement needs no explicit transaction. */
  private async run(statement: SqlStatement, insertions: readonly SqlStatement[]) {
    if (insertions.length === 0) return (await this.postgres.workerPool.query<WrittenRow>(statement)).rows;
    const [rows = []] = await this.postgres.allAsWorker<WrittenRow>([statement, ...insertions]);
    return rows;
  }

  /** After a failure, the write counter of the lease shows whether the commit has happened. */
  private async commitAlone(write: JobWrite, failure: unknown): Promise<Written | Error> {
    let last = failure;
    for (const pauseMs of pausesMs) {
      try {
        const found = await this.findWrite(write);
        if (found !== undefined) return found;
        const [answer] = await this.commitTogether([write]);
        // The fence refused the write, or the first attempt was committed meanwhile.
        if (answer !== undefined)
          return answer instanceof LeaseLost ? ((await this.findWrite(write)) ?? answer) : answer;
      } catch (error) {
        last = error;
        if (!isTransient(error)) break; // sending again is safe: a write is applied once
      }
      await new Promise<void>((resolve) => systemClock.after(pauseMs, resolve));
    }
    return last instanceof Error ? last : new Error(String(last));
  }

  private async findWrite(write: JobWrite): Promise<Written | undefined> {
    const { workspaceId, jobId: id, epoch: leaseEpoch, number: leaseWrites } = write;
    const row = await this.prisma.asWorker(({ job }) =>
      job.findFirst({ where: { workspaceId, id, leaseEpoch, leaseWrites }, select: { lastSeq: true } }),
    );
    // A cancel may have appended events since, so the numbers cannot be counted back from the end.
    return row === null ? undefined : { base: null, lastSeq: row.lastSeq, at: Date.now() };
  }
}

/**
 * The queue messages of the writes: for jobs that become runnable, for parents of sub-jobs that end, and the messages of their rows. If a
 * write is fenced, its message does no harm: the handler finds nothing to do.
 */
function toMessages(writes: readonly JobWrite[]): AddressedMessage[] {
  return writes.flatMap(({ workspaceId, jobId, move, rows }) => [
    ...(move?.to === 'queued' ? [runnableMessage({ workspaceId, jobId, kind: move.kind })] : []),
    ...parentOf(move).map((parent) => subJobsDue({ workspaceId, jobId: parent })),
    ...rows.flatMap(({ message }) => message ?? []),
  ]);
}

function parentOf(move: JobMove | undefined): string[] {
  const parent = move !== undefined && 'parentJobId' in move ? move.parentJobId : null;
  return typeof parent === 'string' ? [parent] : [];
}
