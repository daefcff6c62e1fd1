import { Injectable } from '@nestjs/common';

import { PrismaService, type PrismaTransaction } from '#platform';

/** Reads the hosts that the tools of a workspace may call. */
@Injectable()
export class OutboundHostsRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Returns the current list; empty: any public host. For running tools. */
  async of(workspaceId: string): Promise<readonly string[]> {
    const workspace = await this.prisma.withWorkspace({ workspaceId }, (tx) =>
      tx.workspace.findUnique({ where: { id: workspaceId }, select: { outboundHosts: true } }),
    );
    return workspace?.outboundHosts ?? [];
  }

  async replace(tx: PrismaTransaction, workspaceId: string, hosts: readonly string[]): Promise<void> {
    await tx.workspace.update({
      where: { id: workspaceId },
      data: { outboundHosts: [...hosts], updatedAt: new Date() },
    });
  }
}
