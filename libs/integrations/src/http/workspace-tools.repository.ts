import { Injectable } from '@nestjs/common';

import {
  type Prisma,
  PrismaService,
  type PrismaTransaction,
  type Scope,
  type WorkspaceToolRow,
  type WorkspaceToolVersionRow,
} from '#platform';

import type { HttpTool } from './http-tool.js';
import type { VersionedTool } from './to-tool.js';
import type { WorkspaceTool, WorkspaceToolVersion } from './workspace-tool.js';

/** A page of a list. Ids increase with time. */
export interface ToolPage {
  readonly take: number;
  readonly after: string | undefined;
}

/** Identifies a version of a tool, whose definition never changes. */
export interface ToolVersionRef {
  readonly id: string;
  readonly version: number;
}

/** The tools of workspaces and their earlier versions. Removed tools keep their rows, but no query returns them. */
@Injectable()
export class WorkspaceToolsRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Returns the enabled tools, at most as many as a workspace can have. For jobs, which have the rights of the workspace. */
  usable(workspaceId: string): Promise<ToolVersionRef[]> {
    return this.prisma.withWorkspace({ workspaceId }, (tx) =>
      tx.workspaceTool.findMany({
        where: { workspaceId, removedAt: null, enabled: true },
        orderBy: { id: 'asc' },
        select: { id: true, version: true },
      }),
    );
  }

  /** Returns the stored definitions of these versions. */
  async definitions(
    workspaceId: string,
    refs: readonly ToolVersionRef[],
  ): Promise<readonly (ToolVersionRef & { readonly definition: unknown })[]> {
    if (refs.length === 0) return [];
    const OR = refs.map(({ id, version }) => ({ toolId: id, version }));
    const rows = await this.prisma.withWorkspace({ workspaceId }, (tx) =>
      tx.workspaceToolVersion.findMany({
        where: { workspaceId, OR },
        select: { toolId: true, version: true, definition: true },
      }),
    );
    return rows.map(({ toolId: id, version, definition }) => ({ id, version, definition }));
  }

  /** Returns the tools that the scope may read, oldest first. */
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

  /** Returns null if the tool does not exist, was removed, or may not be read. */
  async find(tx: PrismaTransaction, scope: Scope, id: string): Promise<WorkspaceTool | null> {
    const row = await tx.workspaceTool.findFirst({ where: { AND: [readable(scope), { id }] } });
    if (row === null) return null;
    const key = { workspaceId: scope.workspaceId, toolId: id, version: row.version };
    const version = await tx.workspaceToolVersion.findFirst({ where: key });
    return version === null ? null : toWorkspaceTool(row, version);
  }

  /** Returns the id of the tool with this name. */
  async idOf(tx: PrismaTransaction, scope: Scope, name: string): Promise<string | null> {
    const row = await tx.workspaceTool.findFirst({ where: { AND: [readable(scope), { name }] }, select: { id: true } });
    return row?.id ?? null;
  }

  /** Returns the versions of a tool, newest first. */
  async versions(
    tx: PrismaTransaction,
    scope: Scope,
    tool: { readonly id: string; readonly take: number },
  ): Promise<WorkspaceToolVersion[]> {
    const where = { workspaceId: scope.workspaceId, toolId: tool.id, tool: { is: readable(scope) } };
    const rows = await tx.workspaceToolVersion.findMany({ where, orderBy: { version: 'desc' }, take: tool.take });
    return rows.map(toVersion);
  }

  /** Adds a version and makes it current. Version 1 creates the tool. */
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
  // only `write` stores definitions, and its callers parse them
  return { version, definition: definition as unknown as HttpTool, createdBy, createdAt: createdAt.getTime() };
}
