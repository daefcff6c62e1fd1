import { Injectable } from '@nestjs/common';

import { isId, Prisma, PrismaService, type PrismaTransaction, type Scope, type TriggerRow } from '#platform';

import type { OwnKind } from './own-kinds.js';
import type { TriggerDefinition } from './trigger-definition.js';

/** A stored trigger. Instants in ms since the epoch. */
export interface StoredTrigger {
  readonly id: string;
  readonly origin: 'api' | 'file';
  readonly enabled: boolean;
  readonly ownKinds: readonly OwnKind[];
  readonly definition: TriggerDefinition;
  readonly savedBy: string;
  readonly owner: string | null;
  readonly fired: number;
  readonly failed: number;
  readonly lastFiredAt: number | null;
  readonly lastError: string | null;
  readonly lastErrorAt: number | null;
  readonly createdAt: number;
  readonly savedAt: number;
}

/** A trigger to store. */
export interface NewTrigger {
  readonly id: string;
  readonly origin: StoredTrigger['origin'];
  readonly enabled: boolean;
  readonly ownKinds: readonly OwnKind[];
  readonly definition: TriggerDefinition;
  readonly savedBy: string;
  /** The user who owns its jobs and threads. */
  readonly owner: string | null;
}

/** The counts that evaluations add to a trigger. */
export interface TriggerCounts {
  readonly id: string;
  readonly fired: number;
  readonly failed: number;
  readonly lastError: string | null;
}

/** A trigger by its id alone, in any workspace. */
export interface TriggerRef {
  readonly workspaceId: string;
  readonly id: string;
}

interface ListOptions {
  readonly database: string | null;
  readonly take: number;
  readonly after: string | null;
}

/** Triggers of workspaces. */
@Injectable()
export class TriggersRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Newest first. */
  async list(tx: PrismaTransaction, scope: Scope, { database, take, after }: ListOptions): Promise<StoredTrigger[]> {
    if (database?.includes('\0') === true) return []; // no name has it, and Postgres rejects it
    const rows = await tx.trigger.findMany({
      where: {
        AND: [readable(scope), database === null ? {} : { database }, after === null ? {} : { id: { lt: after } }],
      },
      orderBy: { id: 'desc' },
      take,
    });
    return rows.map(toTrigger);
  }

  async find(tx: PrismaTransaction, scope: Scope, id: string): Promise<StoredTrigger | null> {
    if (!isId(id)) return null;
    const row = await tx.trigger.findFirst({ where: { AND: [readable(scope), { id }] } });
    return row === null ? null : toTrigger(row);
  }

  async named(
    tx: PrismaTransaction,
    workspaceId: string,
    { database, triggerId }: Pick<TriggerDefinition, 'database' | 'triggerId'>,
  ): Promise<StoredTrigger | null> {
    const key = { workspaceId, database, triggerId };
    const row = await tx.trigger.findUnique({ where: { workspaceId_database_triggerId: key } });
    return row === null ? null : toTrigger(row);
  }

  count(tx: PrismaTransaction, workspaceId: string): Promise<number> {
    return tx.trigger.count({ where: { workspaceId } });
  }

  /** Creates it, or replaces the one with its id. */
  async save(
    tx: PrismaTransaction,
    workspaceId: string,
    { id, definition, ownKinds, ...trigger }: NewTrigger,
  ): Promise<void> {
    const { database, triggerId } = definition;
    const json = definition as unknown as Prisma.InputJsonObject; // plain data
    const data = { ...trigger, ownKinds: [...ownKinds], database, triggerId, definition: json };
    await tx.trigger.upsert({
      where: { workspaceId_id: { workspaceId, id } },
      create: { workspaceId, id, ...data },
      update: data,
    });
    // The clock of the database: a process whose own clock is behind would set an earlier instant.
    await tx.$executeRaw`
      UPDATE trigger_definition SET saved_at = greatest(clock_timestamp(), saved_at + interval '1 microsecond')
       WHERE workspace_id = ${workspaceId}::uuid AND id = ${id}::uuid`;
  }

  async delete(tx: PrismaTransaction, workspaceId: string, ids: readonly string[]): Promise<void> {
    await tx.trigger.deleteMany({ where: { workspaceId, id: { in: [...ids] } } });
  }

  /** Changes with each trigger that is saved or deleted. A sum, because their transactions may commit in any order. */
  async version(tx: PrismaTransaction, workspaceId: string): Promise<string> {
    const [row] = await tx.$queryRaw<{ version: string }[]>`
      SELECT concat(count(*), ' ', max(saved_at), ' ', sum(extract(epoch FROM saved_at))) AS version FROM trigger_definition WHERE workspace_id = ${workspaceId}::uuid`;
    return row?.version ?? '';
  }

  async enabled(tx: PrismaTransaction, workspaceId: string): Promise<StoredTrigger[]> {
    return (await tx.trigger.findMany({ where: { workspaceId, enabled: true } })).map(toTrigger);
  }

  /** The kinds of own rows that enabled triggers may match. */
  async ownKinds(workspaceId: string): Promise<ReadonlySet<OwnKind>> {
    const rows = await this.prisma.queryInWorkspace<{ kind: OwnKind }>(
      { workspaceId },
      Prisma.sql`SELECT DISTINCT unnest(own_kinds) AS kind FROM trigger_definition
        WHERE workspace_id = ${workspaceId}::uuid AND enabled AND own_kinds <> '{}'`,
    );
    return new Set(rows.map(({ kind }) => kind));
  }

  /** The triggers that come from files. */
  async ofFiles(tx: PrismaTransaction, workspaceId: string): Promise<StoredTrigger[]> {
    return (await tx.trigger.findMany({ where: { workspaceId, origin: 'file' } })).map(toTrigger);
  }

  /** Finds an enabled trigger by its id alone; null: there is none. */
  async locate(id: string): Promise<TriggerRef | null> {
    const rows = await this.prisma.asWorker(
      (client) => client.$queryRaw<TriggerRef[]>`
        SELECT workspace_id AS "workspaceId", id FROM trigger_definition WHERE id = ${id}::uuid AND enabled`,
    );
    return rows[0] ?? null;
  }

  /** Locks it until the transaction ends; null: deleted or disabled. */
  async lockEnabled(tx: PrismaTransaction, { workspaceId, id }: TriggerRef): Promise<StoredTrigger | null> {
    await tx.$queryRaw`
      SELECT 1 FROM trigger_definition WHERE workspace_id = ${workspaceId}::uuid AND id = ${id}::uuid FOR NO KEY UPDATE`;
    return this.findEnabled(tx, { workspaceId, id });
  }

  async findEnabled(tx: PrismaTransaction, { workspaceId, id }: TriggerRef): Promise<StoredTrigger | null> {
    const row = await tx.trigger.findUnique({ where: { workspaceId_id: { workspaceId, id }, enabled: true } });
    return row === null ? null : toTrigger(row);
  }

  /** Counts one failure, in a transaction of its own. */
  addFailure({ workspaceId, id }: TriggerRef, lastError: string): Promise<void> {
    const counts = { id, fired: 0, failed: 1, lastError };
    return this.prisma.withWorkspace({ workspaceId }, (tx) => this.add(tx, workspaceId, [counts]));
  }

  async add(tx: PrismaTransaction, workspaceId: string, counts: readonly TriggerCounts[]): Promise<void> {
    if (counts.length === 0) return;
    await tx.$executeRaw`
      UPDATE trigger_definition t SET fired = t.fired + c.fired, failed = t.failed + c.failed,
             last_fired_at = CASE WHEN c.fired > 0 THEN clock_timestamp() ELSE t.last_fired_at END,
             last_error = coalesce(c."lastError", t.last_error),
             last_error_at = CASE WHEN c."lastError" IS NULL THEN t.last_error_at ELSE clock_timestamp() END
        FROM json_to_recordset(${JSON.stringify(counts)}::json) AS c(id uuid, fired int, failed int, "lastError" text)
       WHERE t.workspace_id = ${workspaceId}::uuid AND t.id = c.id`;
  }
}

function readable(scope: Scope): Prisma.TriggerWhereInput {
  return { AND: [scope.where('Trigger'), { workspaceId: scope.workspaceId }] };
}

function toTrigger(row: TriggerRow): StoredTrigger {
  const { id, enabled, savedBy, owner, fired, failed, lastError } = row;
  return {
    ...{ id, enabled, savedBy, owner, fired, failed, lastError },
    origin: row.origin as StoredTrigger['origin'], // the table has a check constraint
    ownKinds: row.ownKinds as OwnKind[], // written from `OwnKind` only
    definition: row.definition as unknown as TriggerDefinition, // written by us alone
    lastFiredAt: row.lastFiredAt?.getTime() ?? null,
    lastErrorAt: row.lastErrorAt?.getTime() ?? null,
    createdAt: row.createdAt.getTime(),
    savedAt: row.savedAt.getTime(),
  };
}
