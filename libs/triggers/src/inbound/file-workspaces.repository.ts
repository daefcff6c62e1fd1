import { Injectable } from '@nestjs/common';

import { isId, PrismaService, type PrismaTransaction } from '#platform';

import type { FileConnection, FileWorkspace } from './trigger-places.js';

/** The workspaces and connections that trigger files may name. */
@Injectable()
export class FileWorkspacesRepository {
  constructor(private readonly prisma: PrismaService) {}

  all(): Promise<FileWorkspace[]> {
    return this.prisma.asWorker((client) => client.workspace.findMany({ select: { id: true, name: true } }));
  }

  /** Syntrix connections of any workspace that have one of these ids or names. */
  connections(refs: readonly string[]): Promise<FileConnection[]> {
    const where = { OR: [{ name: { in: [...refs] } }, { id: { in: refs.filter(isId) } }] };
    const select = { id: true, name: true, workspaceId: true } as const;
    return this.prisma.asWorker((client) => client.syntrixConnection.findMany({ where, select }));
  }

  /** The principal for whom the triggers of files act: the first owner. */
  async owner(tx: PrismaTransaction, workspaceId: string): Promise<string> {
    const where = { workspaceId, role: 'owner' };
    const owner = await tx.membership.findFirst({ where, orderBy: { createdAt: 'asc' }, select: { userId: true } });
    return owner === null ? 'system' : `user:${owner.userId}`;
  }
}
