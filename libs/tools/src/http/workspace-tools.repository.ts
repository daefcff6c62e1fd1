import { Injectable } from '@nestjs/common';

import {
  Postgres,
  type Prisma,
  type PrismaTransaction,
  type Scope,
  type WorkspaceToolRow,
  type WorkspaceToolVersionRow,
} from '#platform';

import type { HttpTool } from './http-tool.js';
import type { VersionedTool } from './to-tool.js';
import type { WorkspaceTool, WorkspaceToolVersion } from './workspace-tool.js';

/** Which part of a list: ids rise with time. */
export interface ToolPage {
  readonly take: number;
  readonly after: string | undefined;
}

interface UsableRow {
  readonly id: string;
  readonly version: number;
  readonly definition: unknown;
}

// Bounded by the number of tools that a workspace can have.
const USABLE = `SELECT t.id, t.version, v.definition
  FROM workspace_tool t JOIN workspace_tool_version v
    ON v.workspace_id = t.workspace_id AND v.tool_id = t.id AND v.version = t.version
 WHERE t.workspace_id = $1 AND t.removed_at IS NULL AND t.enabled ORDER BY t.id`;

/** The tools of workspaces and what they were before. Removed ones keep their rows, and are found by nobody. */
@Injectable()
export class WorkspaceToolsRepository {
  constructor(private readonly postgres: Postgres) {}

  /** For jobs, whose right to use them is the workspace's. Definitions as they are stored. */
  usable(workspaceId: string): Promise<readonly UsableRow[]> {
    const values = [workspaceId];
    return this.postgres.readInWorkspace<UsableRow>(workspaceId, { name: 'usable-tools', text: USABLE, values });
  }

  /** Those that the scope may read, oldest first. */
  async list(tx: PrismaTransaction, scope: Scope, page: ToolPage): Promise<WorkspaceTool[]> {
    const after = page.after === undefined ? {} : { id: { gt: page.after } };
    const rows = await tx.workspaceTool.findMany({
      where: { AND: [readable(scope), after] },
      orderBy: { id: 'asc' },
      take: page.take,
    });
    const present = rows.map(({ id, version }) => ({ toolId: id, version }));
    const versions = await tx.workspaceToolVersion.findMany({ where: { workspaceId: scope.workspaceId, OR: present } });
    const byTool = new Map(versions.map((version) => [version.toolId, version]));
    return rows.flatMap((row) => {
      const version = byTool.get(row.id);
      return version === undefined ? [] : [toWorkspaceTool(row, version)];
    });
  }

  count(tx: PrismaTransaction, scope: Scope): Promise<number> {
    return tx.workspaceTool.count({ where: readable(scope) });
  }

  /** Null: absent, removed, or not readable. */
  async find(tx: PrismaTransaction, scope: Scope, id: string): Promise<WorkspaceTool | null> {
    const row = await tx.workspaceTool.findFirst({ where: { AND: [readable(scope), { id }] } });
    if (row === null) return null;
    const key = { workspaceId: scope.workspaceId, toolId: id, version: row.version };
    const version = await tx.workspaceToolVersion.findFirst({ where: key });
    return version === null ? null : toWorkspaceTool(row, version);
  }

  /** The id of the tool of that name. */
  async idOf(tx: PrismaTransaction, scope: Scope, name: string): Promise<string | null> {
    const row = await tx.workspaceTool.findFirst({ where: { AND: [readable(scope), { name }] }, select: { id: true } });
    return row?.id ?? null;
  }

  /** All that a tool has been, newest first. */
  async versions(
    tx: PrismaTransaction,
    scope: Scope,
    tool: { readonly id: string; readonly take: number },
  ): Promise<WorkspaceToolVersion[]> {
    const where = { workspaceId: scope.workspaceId, toolId: tool.id, tool: { is: readable(scope) } };
    const rows = await tx.workspaceToolVersion.findMany({ where, orderBy: { version: 'desc' }, take: tool.take });
    return rows.map(toVersion);
  }

  /** Adds a definition as the present one: version 1 makes the tool. */
  async write(tx: PrismaTransaction, scope: Scope, tool: VersionedTool): Promise<void> {
    const { workspaceId, principal: createdBy } = scope;
    const { id, version, definition } = tool;
    const { name } = definition;
    if (version === 1) await tx.workspaceTool.create({ data: { workspaceId, id, name } });
    else {
      const where = { AND: [readable(scope), { id }] };
      await tx.workspaceTool.updateMany({ where, data: { name, version, updatedAt: new Date() } });
    }
    const json = definition as Prisma.InputJsonObject; // parsed from JSON
    await tx.workspaceToolVersion.create({ data: { workspaceId, toolId: id, version, definition: json, createdBy } });
  }

  async setEnabled(tx: PrismaTransaction, scope: Scope, tool: { id: string; enabled: boolean }): Promise<void> {
    const where = { AND: [readable(scope), { id: tool.id }] };
    await tx.workspaceTool.updateMany({ where, data: { enabled: tool.enabled, updatedAt: new Date() } });
  }

  async remove(tx: PrismaTransaction, scope: Scope, id: string): Promise<void> {
    const where = { AND: [readable(scope), { id }] };
    await tx.workspaceTool.updateMany({ where, data: { removedAt: new Date() } });
  }
}

function readable(scope: Scope): Prisma.WorkspaceToolWhereInput {
  return { AND: [scope.where('WorkspaceTool'), { workspaceId: scope.workspaceId, removedAt: null }] };
}

function toWorkspaceTool(row: WorkspaceToolRow, version: WorkspaceToolVersionRow): WorkspaceTool {
  const { id, name, enabled } = row;
  const { definition } = toVersion(version);
  const times = { createdAt: row.createdAt.getTime(), updatedAt: row.updatedAt.getTime() };
  return { id, name, enabled, version: row.version, definition, ...times };
}

function toVersion({ version, definition, createdBy, createdAt }: WorkspaceToolVersionRow): WorkspaceToolVersion {
  // only `write` above stores definitions, and it takes them parsed
  return { version, definition: definition as unknown as HttpTool, createdBy, createdAt: createdAt.getTime() };
}
