import { Injectable } from '@nestjs/common';

import { type McpServerRow, type McpToolRow, Prisma, type PrismaTransaction, type Scope } from '#platform';

import type { McpDefinition, McpListedHash } from './mcp-definition.js';
import type { McpSettings } from './mcp-server.js';
import type { McpServerRecord, McpToolRecord } from './to-mcp-server.js';

/** A server to store. */
export interface NewMcpServerRow {
  readonly id: string;
  readonly name: string;
  readonly settings: McpSettings;
  readonly enabled: boolean;
}

const withTools = { tools: { orderBy: { name: 'asc' } } } as const;

/** The MCP servers of workspaces, for people. Writes run one after the other per workspace, under its lock. */
@Injectable()
export class McpServersRepository {
  /** Returns the servers that the scope may read, oldest first, after the server with id `after`. */
  async list(
    tx: PrismaTransaction,
    scope: Scope,
    { take, after }: { readonly take: number; readonly after?: string | undefined },
  ): Promise<McpServerRecord[]> {
    const where = { AND: [readable(scope), after === undefined ? {} : { id: { gt: after } }] };
    const rows = await tx.mcpServer.findMany({ where, orderBy: { id: 'asc' }, take, include: withTools });
    return rows.map(toRecord);
  }

  /** Returns null if the server does not exist or may not be read. */
  async find(tx: PrismaTransaction, scope: Scope, id: string): Promise<McpServerRecord | null> {
    const row = await tx.mcpServer.findFirst({ where: { AND: [readable(scope), { id }] }, include: withTools });
    return row === null ? null : toRecord(row);
  }

  /** Returns the ids and names of all servers, for writers. */
  names(tx: PrismaTransaction, scope: Scope): Promise<{ id: string; name: string }[]> {
    return tx.mcpServer.findMany({ where: { workspaceId: scope.workspaceId }, select: { id: true, name: true } });
  }

  /** Locks the server: other transactions cannot store its listing until this transaction ends. */
  async lock(tx: PrismaTransaction, scope: Scope, id: string): Promise<void> {
    const { workspaceId } = scope;
    await tx.$queryRaw`SELECT id FROM mcp_server WHERE workspace_id = ${workspaceId}::uuid AND id = ${id}::uuid
                          FOR NO KEY UPDATE`;
  }

  async insert(tx: PrismaTransaction, scope: Scope, row: NewMcpServerRow): Promise<void> {
    const { workspaceId, principal: createdBy } = scope;
    const { id, name, enabled, settings } = row;
    await tx.mcpServer.create({ data: { workspaceId, id, name, enabled, createdBy, ...toColumns(settings) } });
  }

  async update(tx: PrismaTransaction, scope: Scope, { id, name, enabled, settings }: NewMcpServerRow): Promise<void> {
    const data = { name, enabled, ...toColumns(settings), updatedAt: new Date() };
    await tx.mcpServer.updateMany({ where: { AND: [readable(scope), { id }] }, data });
  }

  /** Removes a server and its tools. */
  async delete(tx: PrismaTransaction, scope: Scope, id: string): Promise<void> {
    await tx.mcpServer.deleteMany({ where: { AND: [readable(scope), { id }] } });
  }

  /** Accepts tools with their listed definitions and returns how many were accepted. A tool with another hash does not change. */
  accept(
    tx: PrismaTransaction,
    scope: Scope,
    { serverId, tools }: { readonly serverId: string; readonly tools: readonly McpListedHash[] },
  ): Promise<number> {
    const { workspaceId, principal } = scope;
    const names = tools.map(({ name }) => name);
    const hashes = tools.map(({ hash }) => hash);
    return tx.$executeRaw`
      UPDATE mcp_tool t SET accepted_definition = t.definition, accepted_hash = t.hash, accepted_by = ${principal},
             accepted_at = clock_timestamp()
        FROM unnest(${names}::text[], ${hashes}::text[]) AS seen(name, hash)
       WHERE t.workspace_id = ${workspaceId}::uuid AND t.server_id = ${serverId}::uuid AND t.gone_at IS NULL
         AND t.name = seen.name AND t.hash = seen.hash`;
  }

  /** Revokes acceptances, and removes tools that the server no longer lists. */
  async revoke(
    tx: PrismaTransaction,
    scope: Scope,
    { serverId, names }: { readonly serverId: string; readonly names: readonly string[] },
  ): Promise<void> {
    const where = { workspaceId: scope.workspaceId, serverId, name: { in: [...names] } };
    const accepted = { acceptedDefinition: Prisma.DbNull, acceptedHash: null, acceptedBy: null, acceptedAt: null };
    await tx.mcpTool.deleteMany({ where: { ...where, goneAt: { not: null } } });
    await tx.mcpTool.updateMany({ where, data: accepted });
  }

  /** Removes all tools of a server. */
  async dropTools(tx: PrismaTransaction, scope: Scope, serverId: string): Promise<void> {
    await tx.mcpTool.deleteMany({ where: { workspaceId: scope.workspaceId, serverId } });
  }
}

function readable(scope: Scope): Prisma.McpServerWhereInput {
  return { AND: [scope.where('McpServer'), { workspaceId: scope.workspaceId }] };
}

function toColumns({ transport, ...settings }: McpSettings) {
  return { transport, settings: { ...settings } as Prisma.InputJsonObject }; // parsed, so it is plain JSON
}

function toRecord(row: McpServerRow & { readonly tools: readonly McpToolRow[] }): McpServerRecord {
  const { id, name, enabled, lastError: problem, listedAt, createdAt, updatedAt } = row;
  return {
    id,
    name,
    enabled,
    problem,
    settings: toSettings(row),
    listedAt: listedAt?.getTime() ?? null,
    createdAt: createdAt.getTime(),
    updatedAt: updatedAt.getTime(),
    tools: row.tools.map(toToolRecord),
  };
}

/** The settings of a row, which were parsed before they were stored. */
export function toSettings(row: { readonly transport: string; readonly settings: unknown }): McpSettings {
  return { ...(row.settings as object), transport: row.transport } as McpSettings; // see above
}

function toToolRecord(row: McpToolRow): McpToolRecord {
  const { name, hash, acceptedHash, acceptedBy, acceptedAt, goneAt } = row;
  return {
    name,
    hash,
    acceptedHash,
    acceptedBy,
    isGone: goneAt !== null,
    acceptedAt: acceptedAt?.getTime() ?? null,
    // `toListedTool` made the definitions
    definition: row.definition as unknown as McpDefinition,
    acceptedDefinition: row.acceptedDefinition as unknown as McpDefinition | null,
  };
}
