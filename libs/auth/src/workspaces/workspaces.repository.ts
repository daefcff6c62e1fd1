import type { Prisma, PrismaTransaction, Scope, WorkspaceRow } from '#platform';

import { TOOL_ISOLATIONS, WHEN_BUSY, WHEN_FULL, type Workspace, type WorkspaceChanges } from './workspace.js';

/** The rows of workspaces. Every method runs in a transaction of its workspace. */
export class WorkspacesRepository {
  /** The workspace of the scope; null without the right to read it. */
  async find(tx: PrismaTransaction, scope: Scope): Promise<Workspace | null> {
    // The ability creates the scope's filter for exactly this table.
    const accessible = scope.where('Workspace') as Prisma.WorkspaceWhereInput;
    const row = await tx.workspace.findFirst({ where: { AND: [accessible, { id: scope.workspaceId }] } });
    return row === null ? null : toWorkspace(row);
  }

  async insert(tx: PrismaTransaction, workspace: { id: string; name: string }): Promise<Workspace> {
    return toWorkspace(await tx.workspace.create({ data: workspace }));
  }

  /** How many workspaces the user owns. Until the transaction ends, no other transaction counts them. */
  async countOwned(tx: PrismaTransaction, userId: string): Promise<number> {
    await tx.$queryRaw`SELECT pg_advisory_xact_lock(hashtextextended('workspaces of ' || ${userId}, 0))::text`;
    // Row-level security shows only the current workspace; this function reads all memberships of one user.
    const [row] = await tx.$queryRaw<{ owned: number }[]>`
      SELECT count(*)::int AS owned FROM identity_memberships(${userId}::uuid) WHERE role = 'owner'`;
    return row?.owned ?? 0;
  }

  async update(tx: PrismaTransaction, id: string, changes: WorkspaceChanges): Promise<Workspace> {
    const data = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
    return toWorkspace(await tx.workspace.update({ where: { id }, data: { ...data, updatedAt: new Date() } }));
  }

  /** Until the transaction ends, other transactions cannot change members or this row. */
  async lock(tx: PrismaTransaction, id: string): Promise<void> {
    await tx.$queryRaw`SELECT id FROM workspace WHERE id = ${id}::uuid FOR UPDATE`;
  }
}

function toWorkspace(row: WorkspaceRow): Workspace {
  const whenBusy = WHEN_BUSY.find((value) => value === row.whenBusy) ?? 'reject';
  return {
    id: row.id,
    name: row.name,
    maxJobsPerUser: row.maxJobsPerUser,
    maxJobs: row.maxJobs,
    whenFull: WHEN_FULL.find((value) => value === row.whenFull) ?? 'queue',
    whenBusy,
    requireUserKey: row.requireUserKey,
    directModels: row.directModels,
    toolIsolation: TOOL_ISOLATIONS.find((value) => value === row.toolIsolation) ?? 'queue',
    deltaRetentionMs: row.deltaRetentionMs === null ? null : Number(row.deltaRetentionMs),
    jobRetentionMs: row.jobRetentionMs === null ? null : Number(row.jobRetentionMs),
    createdAt: row.createdAt.getTime(),
  };
}
