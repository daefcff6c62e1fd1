import { Injectable } from '@nestjs/common';

import { type NodeRunTableRow, Prisma, PrismaService, type Scope } from '#platform';

import type { NodeError, NodeExtra, NodeRunRow, NodeRunStatus } from '../engine/node-run.js';

/** A node run for people. Instants in ms since the epoch. */
export interface NodeRun extends Omit<NodeRunRow, 'handles' | 'handOn'> {
  readonly jobId: string;
  /** Whether `input` or `output` was shortened. */
  readonly isCut: boolean;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
}

/** A page of ordinals: upwards after one, or with `reverse` downwards before one. */
export interface NodeRunPage {
  readonly limit: number;
  readonly after?: number;
  readonly reverse?: boolean;
}

/** Characters of a text in a list. A screen shows no more than 32 KiB. */
const shownCharacters = 32_768;

type Row = Omit<NodeRunTableRow, 'workspaceId' | 'epoch' | 'handles' | 'handOn'> & { readonly isCut: boolean };

/** Node runs of jobs, for principals who may read the job. */
@Injectable()
export class ShownNodeRunsRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Texts are shortened. Returns up to one row more than `limit`; that row means that there is a next page. */
  async listInScope(scope: Scope, jobId: string, page: NodeRunPage): Promise<readonly NodeRun[]> {
    const { limit, after, reverse = false } = page;
    return this.prisma.withWorkspace(scope, async (tx) => {
      if ((await tx.job.count({ where: readable(scope, jobId) })) === 0) return [];
      const beyond = after === undefined ? Prisma.empty : Prisma.sql`AND ordinal ${reverse ? lt : gt} ${after}`;
      const rows = await tx.$queryRaw<Row[]>`
        SELECT job_id AS "jobId", ordinal, node_id AS "nodeId", coalesce(path, '{}') AS path,
          coalesce(iteration, '{}') AS iteration, type, label, status,
          left(input, ${shownCharacters}) AS input, left(output, ${shownCharacters}) AS output, extra,
          error, prompt_tokens AS "promptTokens", completion_tokens AS "completionTokens",
          started_at AS "startedAt", finished_at AS "finishedAt",
          greatest(length(input), length(output)) > ${shownCharacters} AS "isCut"
        FROM node_run WHERE workspace_id = ${scope.workspaceId}::uuid AND job_id = ${jobId}::uuid ${beyond}
        ORDER BY ordinal ${reverse ? desc : asc} LIMIT ${limit + 1}`;
      return rows.map(toNodeRun);
    });
  }

  countInScope(scope: Scope, jobId: string): Promise<number> {
    return this.prisma.withWorkspace(scope, (tx) =>
      tx.nodeRun.count({ where: { workspaceId: scope.workspaceId, jobId, job: { is: readable(scope, jobId) } } }),
    );
  }

  /** The status of the newest run of each node, by the reported ids of nodes. */
  async statusesInScope(scope: Scope, jobId: string): Promise<ReadonlyMap<string, NodeRunStatus>> {
    const rows = await this.prisma.withWorkspace(scope, (tx) =>
      tx.nodeRun.findMany({
        where: { workspaceId: scope.workspaceId, jobId, job: { is: readable(scope, jobId) } },
        select: { nodeId: true, status: true },
        distinct: ['nodeId'],
        orderBy: { ordinal: 'desc' },
      }),
    );
    return new Map(rows.map(({ nodeId, status }) => [nodeId, status as NodeRunStatus])); // the table's CHECK allows no other
  }

  /** Returns a node run with its whole texts. Null: it does not exist, or its job may not be read. */
  async findInScope(
    scope: Scope,
    { jobId, ordinal }: { readonly jobId: string; readonly ordinal: number },
  ): Promise<NodeRun | null> {
    return this.prisma.withWorkspace(scope, async (tx) => {
      const where = { workspaceId: scope.workspaceId, jobId, ordinal, job: { is: readable(scope, jobId) } };
      const row = await tx.nodeRun.findFirst({ where });
      return row === null ? null : toNodeRun({ ...row, isCut: false });
    });
  }
}

const [gt, lt, asc, desc] = [Prisma.sql`>`, Prisma.sql`<`, Prisma.sql`ASC`, Prisma.sql`DESC`];

function readable(scope: Scope, id: string): Prisma.JobWhereInput {
  return { AND: [scope.where('Job'), { workspaceId: scope.workspaceId, id }] };
}

function toNodeRun(row: Row): NodeRun {
  return {
    jobId: row.jobId,
    ordinal: row.ordinal,
    nodeId: row.nodeId,
    path: row.path,
    iteration: row.iteration,
    type: row.type,
    label: row.label,
    status: row.status as NodeRunStatus, // the table's CHECK allows no other
    input: row.input,
    output: row.output,
    extra: row.extra as NodeExtra, // only the engine writes rows
    error: row.error as NodeError | null,
    isCut: row.isCut,
    promptTokens: row.promptTokens,
    completionTokens: row.completionTokens,
    startedAt: row.startedAt?.getTime() ?? null,
    finishedAt: row.finishedAt?.getTime() ?? null,
  };
}
