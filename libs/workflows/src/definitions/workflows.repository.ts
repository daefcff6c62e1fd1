import { Injectable } from '@nestjs/common';

import { isId, type Prisma, type PrismaTransaction, type Scope, toStorableText, type WorkflowRow } from '#platform';
import { subJobPrefix } from '#tools';

import type { DraftFacts, Workflow, WorkflowVersion } from './workflow.js';

/** Which part of a list. */
export interface WorkflowPage {
  readonly take: number;
  readonly after: string | undefined;
}

/** Lists leave the definition out: it may be 1 MiB. */
const summary = {
  id: true,
  clientId: true,
  name: true,
  slug: true,
  toolSlug: true,
  description: true,
  draftHash: true,
  draftVersion: true,
  publishedVersion: true,
  latestVersion: true,
  offeredAsTool: true,
  createdBy: true,
  createdAt: true,
  updatedAt: true,
} as const satisfies Prisma.WorkflowSelect;

const versionSummary = {
  workflowId: true,
  number: true,
  hash: true,
  createdBy: true,
  createdAt: true,
} as const satisfies Prisma.WorkflowVersionSelect;

/** The workflows of a workspace and their published versions. Deleted ones keep their rows, and no lookup returns them. */
@Injectable()
export class WorkflowsRepository {
  /** Newest first. */
  async list(tx: PrismaTransaction, scope: Scope, page: WorkflowPage): Promise<Workflow[]> {
    const before = page.after === undefined ? {} : { id: { lt: page.after } };
    const rows = await tx.workflow.findMany({
      where: { AND: [readable(scope), before] },
      orderBy: { id: 'desc' },
      take: page.take,
      select: summary,
    });
    return rows.map(toWorkflow);
  }

  count(tx: PrismaTransaction, scope: Scope): Promise<number> {
    return tx.workflow.count({ where: readable(scope) });
  }

  /** By our id, or by the one its document came with. Null: absent, deleted, or not readable. */
  async find(tx: PrismaTransaction, scope: Scope, given: string): Promise<Workflow | null> {
    const ref = toStorableText(given);
    const named = { OR: [...(isId(ref) ? [{ id: ref }] : []), { clientId: ref }] };
    const rows = await tx.workflow.findMany({ where: { AND: [readable(scope), named] }, select: summary, take: 2 });
    const row = rows.find(({ id }) => id === ref) ?? rows[0];
    return row === undefined ? null : toWorkflow(row);
  }

  /** Another workflow with this name, or with this id of a client. */
  async findOthers(
    tx: PrismaTransaction,
    scope: Scope,
    like: { readonly id: string; readonly name: string; readonly clientId: string | null },
  ): Promise<readonly Workflow[]> {
    const { id, name, clientId } = like;
    const same = { OR: [{ name }, ...(clientId === null ? [] : [{ clientId }])] };
    const where = { AND: [readable(scope), same, { NOT: { id } }] };
    return (await tx.workflow.findMany({ where, select: summary, take: 2 })).map(toWorkflow);
  }

  /** The draft's text; null as `find`. */
  async draft(tx: PrismaTransaction, scope: Scope, id: string): Promise<string | null> {
    const row = await tx.workflow.findFirst({ where: { AND: [readable(scope), { id }] }, select: { draft: true } });
    return row?.draft ?? null;
  }

  /** Those of `slugs` that a workflow has as its model or tool name. */
  async slugsInUse(tx: PrismaTransaction, scope: Scope, slugs: readonly string[]): Promise<ReadonlySet<string>> {
    const { workspaceId } = scope;
    const among = { in: [...slugs] };
    const where = { workspaceId, deletedAt: null, OR: [{ slug: among }, { toolSlug: among }] };
    const rows = await tx.workflow.findMany({ where, select: { slug: true, toolSlug: true } });
    return new Set(rows.flatMap(({ slug, toolSlug }) => [slug, toolSlug ?? slug]));
  }

  async create(
    tx: PrismaTransaction,
    scope: Scope,
    { id, slug, facts }: { id: string; slug: string; facts: DraftFacts },
  ): Promise<void> {
    const { workspaceId, principal: createdBy } = scope;
    const { text: draft, hash: draftHash, name, description, clientId } = facts;
    const fields = { name, slug, description, clientId };
    await tx.workflow.create({ data: { workspaceId, id, createdBy, draft, draftHash, ...fields } });
  }

  async saveDraft(
    tx: PrismaTransaction,
    scope: Scope,
    { id, draftVersion, facts }: { id: string; draftVersion: number; facts: DraftFacts },
  ): Promise<void> {
    const { text: draft, hash: draftHash, name, description, clientId } = facts;
    const data = { draft, draftHash, draftVersion, name, description, clientId, updatedAt: new Date() };
    await tx.workflow.updateMany({ where: { AND: [readable(scope), { id }] }, data });
  }

  /** Adds the version and makes it the one that runs. */
  async publish(
    tx: PrismaTransaction,
    scope: Scope,
    version: { readonly id: string; readonly number: number; readonly text: string; readonly hash: string },
  ): Promise<void> {
    const { workspaceId, principal: createdBy } = scope;
    const { id: workflowId, number, text: definition, hash } = version;
    await tx.workflowVersion.create({ data: { workspaceId, workflowId, number, definition, hash, createdBy } });
    const data = { latestVersion: number, publishedVersion: number, updatedAt: new Date() };
    await tx.workflow.updateMany({ where: { AND: [readable(scope), { id: workflowId }] }, data });
  }

  async offer(tx: PrismaTransaction, scope: Scope, { id, offered }: { id: string; offered: boolean }): Promise<void> {
    const data = { offeredAsTool: offered, updatedAt: new Date() };
    await tx.workflow.updateMany({ where: { AND: [readable(scope), { id }] }, data });
  }

  /** The schedules of the workflow are deleted for good. */
  async remove(tx: PrismaTransaction, scope: Scope, id: string): Promise<void> {
    await tx.schedule.deleteMany({ where: { workflowId: id, workflow: { is: readable(scope) } } });
    await tx.workflow.updateMany({ where: { AND: [readable(scope), { id }] }, data: { deletedAt: new Date() } });
  }

  /** Newest first; `below` is a number. */
  async versions(
    tx: PrismaTransaction,
    scope: Scope,
    wanted: { readonly id: string; readonly take: number; readonly below: number | undefined },
  ): Promise<WorkflowVersion[]> {
    const { id, take, below } = wanted;
    const number = below === undefined ? {} : { number: { lt: below } };
    const where = { ...versionsOf(scope, id), ...number };
    const rows = await tx.workflowVersion.findMany({
      where,
      orderBy: { number: 'desc' },
      take,
      select: versionSummary,
    });
    return rows.map(toVersion);
  }

  /** One version with its text; null: there is none. */
  async version(
    tx: PrismaTransaction,
    scope: Scope,
    { id, number }: { readonly id: string; readonly number: number },
  ): Promise<(WorkflowVersion & { readonly text: string }) | null> {
    const row = await tx.workflowVersion.findFirst({ where: { ...versionsOf(scope, id), number } });
    return row === null ? null : { ...toVersion(row), text: row.definition };
  }
}

function readable(scope: Scope): Prisma.WorkflowWhereInput {
  return { AND: [scope.where('Workflow'), { workspaceId: scope.workspaceId, deletedAt: null }] };
}

function versionsOf(scope: Scope, workflowId: string): Prisma.WorkflowVersionWhereInput {
  return { workspaceId: scope.workspaceId, workflowId, workflow: { is: readable(scope) } };
}

function toWorkflow({ toolSlug, ...row }: Pick<WorkflowRow, keyof typeof summary>): Workflow {
  const toolName = `${subJobPrefix}${toolSlug ?? row.slug}`;
  return { ...row, toolName, createdAt: row.createdAt.getTime(), updatedAt: row.updatedAt.getTime() };
}

function toVersion(row: Omit<WorkflowVersion, 'createdAt'> & { readonly createdAt: Date }): WorkflowVersion {
  const { workflowId, number, hash, createdBy, createdAt } = row;
  return { workflowId, number, hash, createdBy, createdAt: createdAt.getTime() };
}
