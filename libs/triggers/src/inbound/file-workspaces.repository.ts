import { Injectable } from '@nestjs/common';

import { PrismaService, type PrismaTransaction } from '#platform';

/** The workspaces that trigger files may name. */
@Injectable()
export class FileWorkspacesRepository {
  constructor(private readonly prisma: PrismaService) {}

  all(): Promise<{ readonly id: string; readonly name: string }[]> {
    return this.prisma.asEngine((client) => client.workspace.findMany({ select: { id: true, name: true } }));
  }

  /** The principal for whom the triggers of files act: the first owner. */
  async owner(tx: PrismaTransaction, workspaceId: string): Promise<string> {
    const where = { workspaceId, role: 'owner' };
    const owner = await tx.membership.findFirst({ where, orderBy: { createdAt: 'asc' }, select: { userId: true } });
    return owner === null ? 'system' : `user:${owner.userId}`;
  }
}
