import { Injectable } from '@nestjs/common';

import { PrismaService } from '#platform';
import { canonicalJson } from '#tools';

import type { McpListing } from './mcp-connection.js';
import type { McpDefinition } from './mcp-definition.js';
import type { McpSettings } from './mcp-server.js';
import type { McpToolStatus } from './mcp-server.js';
import { toSettings } from './mcp-servers.repository.js';
import { statusOf } from './to-mcp-server.js';

/** A server with the data that a connection needs. */
export interface McpReachable {
  readonly workspaceId: string;
  readonly serverId: string;
  readonly name: string;
  readonly settings: McpSettings;
  readonly enabled: boolean;
  /** The workspace's list of allowed hosts. */
  readonly hosts: readonly string[];
}

/** An accepted tool and its current state. */
export interface McpAcceptedTool {
  readonly serverId: string;
  readonly serverName: string;
  readonly settings: McpSettings;
  readonly enabled: boolean;
  readonly status: McpToolStatus;
  readonly definition: McpDefinition;
  readonly hash: string;
}

const MAX_TOOLS = 2_000;

const serverColumns = { id: true, name: true, transport: true, settings: true, enabled: true } as const;

/** The listed tools of servers, for running tools. The caller has checked the rights. */
@Injectable()
export class McpListingsRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Returns null if the workspace has no such server. */
  async reachable(workspaceId: string, serverId: string): Promise<McpReachable | null> {
    const row = await this.prisma.withWorkspace({ workspaceId }, (tx) =>
      tx.mcpServer.findUnique({
        where: { workspaceId_id: { workspaceId, id: serverId } },
        select: { ...serverColumns, workspace: { select: { outboundHosts: true } } },
      }),
    );
    if (row === null) return null;
    const { name, enabled, workspace } = row;
    return { workspaceId, serverId, name, settings: toSettings(row), enabled, hosts: workspace.outboundHosts };
  }

  /** Returns every accepted tool of the workspace, even if its server has changed or no longer lists it. */
  async accepted(workspaceId: string): Promise<readonly McpAcceptedTool[]> {
    const rows = await this.prisma.withWorkspace({ workspaceId }, (tx) =>
      tx.mcpTool.findMany({
        where: { workspaceId, acceptedHash: { not: null } },
        orderBy: [{ server: { name: 'asc' } }, { name: 'asc' }],
        take: MAX_TOOLS,
        select: {
          ...{ hash: true, goneAt: true, acceptedDefinition: true, acceptedHash: true },
          server: { select: serverColumns },
        },
      }),
    );
    return rows.map(({ hash, goneAt, acceptedHash, acceptedDefinition, server }) => ({
      serverId: server.id,
      serverName: server.name,
      settings: toSettings(server),
      enabled: server.enabled,
      status: statusOf({ hash, acceptedHash, isGone: goneAt !== null }),
      definition: acceptedDefinition as unknown as McpDefinition, // parsed before it was stored
      hash: acceptedHash ?? '', // the filter excludes null
    }));
  }

  /** Stores the tools that a server lists. Does nothing if the settings of the server have changed since it was asked. */
  async store({ workspaceId, serverId, settings }: McpReachable, { tools, problem }: McpListing): Promise<void> {
    const names = tools.map(({ definition }) => definition.name);
    const [definitions, hashes] = [
      tools.map(({ definition }) => JSON.stringify(definition)),
      tools.map(({ hash }) => hash),
    ];
    const server = { workspaceId, serverId };
    await this.prisma.withWorkspace({ workspaceId }, async (tx) => {
      // The lock makes listings of one server run one after the other, and not at the same time as an acceptance.
      const [row] = await tx.$queryRaw<{ transport: string; settings: unknown }[]>`
        SELECT transport, settings FROM mcp_server
         WHERE workspace_id = ${workspaceId}::uuid AND id = ${serverId}::uuid FOR NO KEY UPDATE`;
      if (row === undefined || canonicalJson(toSettings(row)) !== canonicalJson(settings)) return;
      await tx.$executeRaw`INSERT INTO mcp_tool AS t (workspace_id, server_id, name, definition, hash)
        SELECT ${workspaceId}::uuid, ${serverId}::uuid, l.name, l.definition::jsonb, l.hash
          FROM unnest(${names}::text[], ${definitions}::text[], ${hashes}::text[]) AS l(name, definition, hash)
        ON CONFLICT (workspace_id, server_id, name) DO UPDATE
           SET definition = EXCLUDED.definition, hash = EXCLUDED.hash, gone_at = NULL
         WHERE t.hash <> EXCLUDED.hash OR t.gone_at IS NOT NULL`;
      await tx.mcpTool.deleteMany({ where: { ...server, acceptedHash: null, name: { notIn: names } } });
      const now = new Date();
      await tx.mcpTool.updateMany({
        where: { ...server, goneAt: null, name: { notIn: names } },
        data: { goneAt: now },
      });
      const listed = { listedAt: now, lastError: problem };
      await tx.mcpServer.updateMany({ where: { workspaceId, id: serverId }, data: listed });
    });
  }

  /** Stores why a server could not be listed. Its tools do not change. */
  async storeProblem({ workspaceId, serverId }: McpReachable, problem: string): Promise<void> {
    const isNew = { OR: [{ lastError: null }, { lastError: { not: problem } }] };
    await this.prisma.withWorkspace({ workspaceId }, (tx) =>
      tx.mcpServer.updateMany({ where: { workspaceId, id: serverId, ...isNew }, data: { lastError: problem } }),
    );
  }
}
