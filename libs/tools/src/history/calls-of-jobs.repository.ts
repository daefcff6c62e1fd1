import { Injectable } from '@nestjs/common';

import { assertReadable, PrismaService, type Scope } from '#platform';

import { sizeOf, type ToolCallRecord, toToolCallRecord } from './tool-call-record.js';

/** Reads tool calls for principals that may read their jobs. Every method takes a Scope and many ids at once, for data loaders. */
@Injectable()
export class CallsOfJobsRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Returns the tool calls of these jobs, in the order in which the model requested them. Throws `too_large`. */
  listOfJobs(scope: Scope, jobIds: readonly string[]): Promise<ToolCallRecord[]> {
    const { workspaceId } = scope;
    return this.prisma.withWorkspace(scope, async (tx) => {
      const [size] = await tx.$queryRaw<{ bytes: number | null }[]>`
        SELECT sum(octet_length(arguments) + coalesce(octet_length(result), 0))::float8 AS bytes FROM tool_call
         WHERE workspace_id = ${workspaceId}::uuid AND job_id = ANY(${[...jobIds]}::uuid[])`;
      assertReadable(size?.bytes ?? 0);
      const rows = await tx.toolCall.findMany({
        where: {
          AND: [scope.where('ToolCall'), { workspaceId, jobId: { in: [...jobIds] }, job: { is: scope.where('Job') } }],
        },
        orderBy: [{ jobId: 'asc' }, { round: 'asc' }, { ordinal: 'asc' }],
      });
      return rows.map(toToolCallRecord);
    });
  }

  /** Returns tool calls by their ids, and leaves out those that do not exist or that the scope excludes. Throws `too_large`. */
  findMany(scope: Scope, ids: readonly string[]): Promise<ToolCallRecord[]> {
    const { workspaceId } = scope;
    return this.prisma.withWorkspace(scope, async (tx) => {
      const rows = await tx.toolCall.findMany({
        where: {
          AND: [scope.where('ToolCall'), { workspaceId, id: { in: [...ids] }, job: { is: scope.where('Job') } }],
        },
      });
      assertReadable(sizeOf(rows));
      return rows.map(toToolCallRecord);
    });
  }
}
