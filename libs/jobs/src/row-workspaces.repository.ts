import { Injectable } from '@nestjs/common';

import { isId, PrismaService } from '#platform';

/** Rows with an id of their own that routes name. */
export type RowKind = 'job' | 'interrupt' | 'notification';

/** In which workspace a row is, for a route that a user of several workspaces calls without naming one. */
@Injectable()
export class RowWorkspacesRepository {
  constructor(private readonly prisma: PrismaService) {}

  /**
   * One query for any number of workspaces. Null: none of them has such a row. Checks no rights: the caller passes only workspaces that
   * the user is a member of, so that rows of others stay absent.
   */
  async find(kind: RowKind, id: string, workspaceIds: readonly string[]): Promise<string | null> {
    if (!isId(id)) return null;
    const query = { where: { id, workspaceId: { in: [...workspaceIds] } }, select: { workspaceId: true as const } };
    const row = await this.prisma.asEngine(async (client) => {
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
