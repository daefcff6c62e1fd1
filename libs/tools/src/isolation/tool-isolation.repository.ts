import { Injectable } from '@nestjs/common';

import { PrismaService, TOOL_PROCESS_CONNECTIONS } from '#platform';

/** Reads which workspaces isolate all their tools, and whether a process runs isolated calls. */
@Injectable()
export class ToolIsolationRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Whether the workspace sends every call of a server tool to the tool processes. False also for an unknown workspace. */
  async isChosenBy(workspaceId: string): Promise<boolean> {
    const workspace = await this.prisma.withWorkspace({ workspaceId }, (tx) =>
      tx.workspace.findUnique({ where: { id: workspaceId }, select: { toolIsolation: true } }),
    );
    return workspace?.toolIsolation === 'queue';
  }

  /** Whether a process that serves the tool queue is connected to the database; it polls the queue, so it always is. */
  async hasToolProcess(): Promise<boolean> {
    const [row] = await this.prisma.outsideWorkspaces(
      (client) => client.$queryRaw<{ isConnected: boolean }[]>`
        SELECT EXISTS (SELECT 1 FROM pg_stat_activity
                        WHERE datname = current_database() AND application_name LIKE ${`${TOOL_PROCESS_CONNECTIONS}:%`}) AS "isConnected"`,
    );
    return row?.isConnected === true;
  }
}
