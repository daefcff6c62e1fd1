import { Injectable } from '@nestjs/common';

import {
  defined,
  firstIdAt,
  isId,
  type JobRow,
  type Prisma,
  PrismaService,
  type Scope,
  toStorableText,
} from '#platform';

import { isJobKind, type Job } from './job.js';
import { isJobStatus, type JobStatus } from './job.lifecycle.js';
import type { JobLabels } from './job-labels.js';

/** Filters a list of jobs; all given members must match. Instants in ms since the epoch. */
export interface JobFilter {
  readonly statuses?: readonly JobStatus[];
  readonly kinds?: readonly string[];
  readonly threadId?: string;
  readonly workflowId?: string;
  readonly createdBy?: string;
  readonly createdAfter?: number;
  readonly createdBefore?: number;
  /** Labels that the job must have. */
  readonly labels?: JobLabels;
}

/** A message of a thread, each by our id or by the id that the client chose. */
export interface MessageRef {
  readonly threadId: string;
  readonly messageId: string;
}

/** A keyset page. Ids are in order of creation, so the last id of a page is the cursor. */
export interface KeysetPage {
  /** 1 to 100. */
  readonly limit: number;
  /** Default order: newest first, jobs older than this id. With `reverse`: oldest first, jobs newer than this id. */
  readonly after?: string;
  readonly reverse?: boolean;
}

/** Input columns can have many MiB and no API shows them. They are read only to retry a job. */
const unshown = { input: true, fileHashes: true, backgroundMode: true, keyCipher: true } as const;
type ShownRow = Omit<JobRow, keyof typeof unshown>;

/** Reads of jobs. Every method takes a Scope and finds only rows that the scope covers. */
@Injectable()
export class JobsRepository {
  constructor(private readonly prisma: PrismaService) {}

  findInScope(scope: Scope, id: string): Promise<Job | null> {
    return this.prisma.withWorkspace(scope, async (tx) => {
      const row = await tx.job.findFirst({ omit: unshown, where: { AND: [scope.where('Job'), { id }] } });
      return row === null ? null : toJob(row);
    });
  }

  /** The jobs with these ids, for data loaders. Skips absent and forbidden ids. */
  findManyInScope(scope: Scope, ids: readonly string[]): Promise<Job[]> {
    return this.prisma.withWorkspace(scope, async (tx) => {
      const where = { AND: [scope.where('Job'), { id: { in: [...ids] } }] };
      const rows = await tx.job.findMany({ omit: unshown, where });
      return rows.map(toJob);
    });
  }

  /** The newest job that writes this message. A thread id of a client refers to a thread of the calling user. */
  findByMessageInScope(scope: Scope, message: MessageRef): Promise<Job | null> {
    const { workspaceId, userId } = scope;
    const [threadId, messageId] = [message.threadId, message.messageId].map(toStorableText) as [string, string]; // `map` keeps the length
    const threads: Prisma.ThreadWhereInput[] = [
      ...(isId(threadId) ? [{ id: threadId }] : []),
      ...(userId === null ? [] : [{ clientId: threadId, createdBy: userId }]),
    ];
    const messages = [{ messageClientId: messageId }, ...(isId(messageId) ? [{ messageId }] : [])];
    return this.prisma.withWorkspace(scope, async (tx) => {
      const row = await tx.job.findFirst({
        omit: unshown,
        where: { AND: [scope.where('Job'), { workspaceId, OR: messages, thread: { OR: threads } }] },
        orderBy: { id: 'desc' },
      });
      return row === null ? null : toJob(row);
    });
  }

  /** Direct children of these jobs, oldest first, at most 100 times the number of parents. */
  findBelowInScope(scope: Scope, parentIds: readonly string[]): Promise<Job[]> {
    return this.prisma.withWorkspace(scope, async (tx) => {
      const rows = await tx.job.findMany({
        omit: unshown,
        where: { AND: [scope.where('Job'), { workspaceId: scope.workspaceId, parentJobId: { in: [...parentIds] } }] },
        orderBy: { id: 'asc' },
        take: 100 * parentIds.length,
      });
      return rows.map(toJob);
    });
  }

  /** Returns one row more than `limit` if there is a next page. */
  listInScope(scope: Scope, filter: JobFilter, page: KeysetPage): Promise<Job[]> {
    return this.prisma.withWorkspace(scope, async (tx) => {
      const beyond =
        page.after === undefined ? {} : { id: page.reverse === true ? { gt: page.after } : { lt: page.after } };
      const rows = await tx.job.findMany({
        omit: unshown,
        where: { AND: [scope.where('Job'), { workspaceId: scope.workspaceId }, toWhere(filter), beyond] },
        orderBy: [
          { workspaceId: page.reverse === true ? 'asc' : 'desc' },
          { id: page.reverse === true ? 'asc' : 'desc' },
        ],
        take: page.limit + 1,
      });
      return rows.map(toJob);
    });
  }

  countInScope(scope: Scope, filter: JobFilter): Promise<number> {
    return this.prisma.withWorkspace(scope, (tx) =>
      tx.job.count({ where: { AND: [scope.where('Job'), toWhere(filter)] } }),
    );
  }

  /** Input and background mode of a job, for a retry. */
  findInputInScope(scope: Scope, id: string): Promise<{ job: Job; input: unknown; backgroundMode: unknown } | null> {
    return this.prisma.withWorkspace(scope, async (tx) => {
      const row = await tx.job.findFirst({ where: { AND: [scope.where('Job'), { id }] } });
      return row === null ? null : { job: toJob(row), input: row.input, backgroundMode: row.backgroundMode };
    });
  }

  /** The job that a principal's idempotency key started, or the marker of a cancelled key. */
  findAdmission(scope: Scope, key: string): Promise<{ jobId: string | null; cancelled: boolean } | null> {
    return this.prisma.withWorkspace(scope, async (tx) => {
      const { workspaceId, principal } = scope;
      const row = await tx.admission.findUnique({
        where: { workspaceId_principal_key: { workspaceId, principal, key } },
      });
      return row === null ? null : { jobId: row.jobId, cancelled: row.cancelledAt !== null };
    });
  }
}

function toWhere(filter: JobFilter): Prisma.JobWhereInput {
  return {
    ...(filter.statuses === undefined ? {} : { status: { in: [...filter.statuses] } }),
    ...(filter.kinds === undefined ? {} : { kind: { in: [...filter.kinds] } }),
    ...defined({ threadId: filter.threadId, workflowId: filter.workflowId, createdBy: filter.createdBy }),
    AND: [...timeWhere(filter), ...labelWhere(filter)],
  };
}

/** An id is created a little before its row, perhaps by another clock. */
const idSlackMs = 60_000;

/** A time span: the range of ids uses the primary key, and the comparison with `created_at` is exact at its ends. */
function timeWhere({ createdAfter, createdBefore }: JobFilter): Prisma.JobWhereInput[] {
  return [
    ...(createdAfter === undefined
      ? []
      : [{ id: { gte: firstIdAt(createdAfter - idSlackMs) }, createdAt: { gte: new Date(createdAfter) } }]),
    ...(createdBefore === undefined
      ? []
      : [{ id: { lt: firstIdAt(createdBefore + idSlackMs) }, createdAt: { lt: new Date(createdBefore) } }]),
  ];
}

/** By the rows of labels, which have an index. */
function labelWhere({ labels = {} }: JobFilter): Prisma.JobWhereInput[] {
  return Object.entries(labels).map(([name, value]) => ({ labelRows: { some: { name, value } } }));
}

function toJob(row: ShownRow): Job {
  const { kind, status } = row;
  if (!isJobKind(kind) || !isJobStatus(status)) throw new Error(`job ${row.id} has kind ${kind}, status ${status}`);
  return {
    workspaceId: row.workspaceId,
    id: row.id,
    kind,
    status,
    isDeferred: row.isDeferred,
    threadId: row.threadId,
    messageId: row.messageId,
    messageClientId: row.messageClientId,
    createdBy: row.createdBy,
    externalUserId: row.externalUser,
    retryOf: row.retryOf,
    parentJobId: row.parentJobId,
    parentCallId: row.parentCallId,
    depth: row.depth,
    workflowId: row.workflowId,
    workflowVersion: row.workflowVersion,
    model: row.model,
    labels: row.labels as JobLabels, // checked when the job was accepted
    lastSeq: row.lastSeq,
    restarts: row.restarts,
    reason: row.reason,
    error: toError(row.error),
    promptTokens: row.promptTokens,
    completionTokens: row.completionTokens,
    rounds: row.rounds,
    toolCalls: row.toolCalls,
    cancelRequested: row.cancelRequestedAt !== null,
    createdAt: row.createdAt.getTime(),
    startAt: row.startAt?.getTime() ?? null,
    startedAt: row.startedAt?.getTime() ?? null,
    finishedAt: row.finishedAt?.getTime() ?? null,
  };
}

function toError(value: unknown): Job['error'] {
  if (typeof value !== 'object' || value === null || !('code' in value) || !('message' in value)) return null;
  const isRetryable = 'retryable' in value && value.retryable === true;
  return { code: String(value.code), message: String(value.message), ...(isRetryable && { retryable: true }) };
}
