import { Injectable } from '@nestjs/common';

import { isId, PrismaService } from '#platform';

/** Kinds of rows that routes name by id. */
export type RowKind = 'job' | 'interrupt' | 'notification';

/** Finds the workspace of a row, for a user of several workspaces whose request names none. */
@Injectable()
export class RowWorkspacesRepository {
  constructor(private readonly prisma: PrismaService) {}

  /**
   * One query for any number of workspaces. Returns null if none of them has the row. Does not check rights: the caller passes only
   * workspaces that the user is a member of, so rows of other workspaces are reported as absent.
   */
  async find(kind: RowKind, id: string, workspaceIds: readonly string[]): Promise<string | null> {
    if (!isId(id)) return null;
    const query = { where: { id, workspaceId: { in: [...workspaceIds] } }, select: { workspaceId: true as const } };
    const row = await this.prisma.asWorker(async (client) => {
      switch (kind) {
        case 'job':
          return client.job.findFirst(query);
        case 'interrupt':
          return client.interrupt.findFirst(query);
        case 'notification':
          return client.notification.findFirst(query);
      }
    });
    return row?.workspaceId ?? null;
  }
}
