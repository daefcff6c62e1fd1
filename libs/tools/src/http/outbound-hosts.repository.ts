import { Injectable } from '@nestjs/common';

import { Postgres, type PrismaTransaction } from '#platform';

/** Which hosts the tools of a workspace may ask. */
@Injectable()
export class OutboundHostsRepository {
  constructor(private readonly postgres: Postgres) {}

  /** The workspace's list as it is now; empty: any public host. For tools at work. */
  async of(workspaceId: string): Promise<readonly string[]> {
    const [row] = await this.postgres.readInWorkspace<{ outbound_hosts: string[] | null }>(workspaceId, {
      name: 'outbound-hosts',
      text: 'SELECT outbound_hosts FROM workspace WHERE id = $1',
      values: [workspaceId],
    });
    return row?.outbound_hosts ?? [];
  }

  async replace(tx: PrismaTransaction, workspaceId: string, hosts: readonly string[]): Promise<void> {
    await tx.workspace.update({
      where: { id: workspaceId },
      data: { outboundHosts: [...hosts], updatedAt: new Date() },
    });
  }
}
