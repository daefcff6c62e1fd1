import { createHash } from 'node:crypto';

import { Injectable } from '@nestjs/common';

import type { ExpiredRows } from '#jobs';
import { newId, PrismaService, type PrismaTransaction } from '#platform';

import type { TriggerEventType } from './trigger-definition.js';

/** A change as a database sends it. */
export interface PushedChange {
  readonly type: TriggerEventType;
  readonly collection: string;
  readonly documentId: string;
  readonly document?: Readonly<Record<string, unknown>> | undefined;
  readonly before?: Readonly<Record<string, unknown>> | undefined;
  /** Ms since the epoch. */
  readonly timestamp: number;
  readonly lsn?: string | undefined;
  readonly seq?: number | undefined;
}

/** A change that waits for its evaluation. */
export interface StoredChange {
  readonly id: string;
  readonly database: string;
  readonly body: PushedChange;
  /** A change of a row of the workspace itself. */
  readonly isOwn: boolean;
}

/** How long a repeated change is recognized. */
const keptMs = 7 * 86_400_000;
const forgottenAtOnce = 1_000;
const longestKey = 500;
/**
 * Maximum bytes of the bodies that are evaluated together. A page ends with the change that reaches it, so that large changes do not fill the
 * memory.
 */
export const openBytes = 1_048_576;

/** Changes of documents, until they are evaluated. */
@Injectable()
export class ChangesRepository implements ExpiredRows {
  constructor(private readonly prisma: PrismaService) {}

  /** Stores the unknown changes, in their order. Returns how many were unknown. */
  async insert(
    tx: PrismaTransaction,
    { workspaceId, database }: { readonly workspaceId: string; readonly database: string },
    changes: readonly PushedChange[],
  ): Promise<number> {
    const rows = changes.map((change) => ({ id: newId(), key: keyOf(change), body: change }));
    // One JSON text has all rows: `createMany` of 1,000 changes blocks the event loop for seconds.
    return tx.$executeRaw`
      INSERT INTO document_change (workspace_id, id, database, key, body)
      SELECT ${workspaceId}::uuid, (c.row->>'id')::uuid, ${database}, c.row->>'key', c.row->'body'
        FROM jsonb_array_elements(${JSON.stringify(rows)}::jsonb) WITH ORDINALITY AS c(row, n) ORDER BY c.n
          ON CONFLICT DO NOTHING`;
  }

  /** Lets one transaction at a time evaluate the changes of a workspace, so that they stay in their order. */
  async lock(tx: PrismaTransaction, workspaceId: string): Promise<void> {
    await tx.$queryRaw`SELECT 1 FROM pg_advisory_xact_lock(hashtextextended('triggers:' || ${workspaceId}, 0))`;
  }

  /**
   * The oldest changes that wait: at most `limit`, and none after the one with which their bodies reach `openBytes`. The recursion reads one
   * row at a time, so that Postgres decompresses no body beyond the page.
   */
  async open(tx: PrismaTransaction, workspaceId: string, limit: number): Promise<StoredChange[]> {
    return tx.$queryRaw<StoredChange[]>`
      WITH RECURSIVE page AS (
        SELECT first.*, 1 AS count, octet_length(first.body::text)::int8 AS bytes
          FROM (SELECT ordinal, id, database, body, own FROM document_change
                 WHERE workspace_id = ${workspaceId}::uuid AND body IS NOT NULL ORDER BY ordinal LIMIT 1) first
        UNION ALL
        SELECT next.*, page.count + 1, page.bytes + octet_length(next.body::text)
          FROM page CROSS JOIN LATERAL (
               SELECT ordinal, id, database, body, own FROM document_change
                WHERE workspace_id = ${workspaceId}::uuid AND body IS NOT NULL AND ordinal > page.ordinal ORDER BY ordinal LIMIT 1) next
         WHERE page.count < ${limit}::int AND page.bytes < ${openBytes}::int8)
      SELECT id, database, body, own AS "isOwn" FROM page ORDER BY ordinal`;
  }

  /** Marks changes as evaluated; only their keys are kept. */
  async close(tx: PrismaTransaction, workspaceId: string, ids: readonly string[]): Promise<void> {
    await tx.documentChange.deleteMany({ where: { workspaceId, id: { in: [...ids] }, key: null } });
    await tx.$executeRaw`
      UPDATE document_change SET body = NULL WHERE workspace_id = ${workspaceId}::uuid AND id = ANY(${[...ids]}::uuid[])`;
  }

  /** The newest change that waits, as the caller's transaction sees it. */
  async newestOpen(tx: PrismaTransaction, workspaceId: string): Promise<string | null> {
    const [row] = await tx.$queryRaw<{ id: string }[]>`
      SELECT id FROM document_change WHERE workspace_id = ${workspaceId}::uuid AND body IS NOT NULL ORDER BY ordinal DESC LIMIT 1`;
    return row?.id ?? null;
  }

  /** Workspaces whose changes wait for longer than `ms`: their message may be lost. */
  async waiting(ms: number, limit: number): Promise<string[]> {
    const rows = await this.prisma.asWorker(
      (client) => client.$queryRaw<{ workspaceId: string }[]>`
        SELECT DISTINCT workspace_id AS "workspaceId" FROM document_change
         WHERE body IS NOT NULL AND received_at < clock_timestamp() - ${ms}::float8 * interval '1 ms' LIMIT ${limit}`,
    );
    return rows.map(({ workspaceId }) => workspaceId);
  }

  deleteExpired(workspaceId: string): Promise<number> {
    const before = new Date(Date.now() - keptMs);
    return this.prisma.withWorkspace(
      { workspaceId },
      (tx) => tx.$executeRaw`DELETE FROM document_change WHERE workspace_id = ${workspaceId}::uuid AND id IN (
        SELECT id FROM document_change WHERE workspace_id = ${workspaceId}::uuid AND body IS NULL AND received_at < ${before}
         LIMIT ${forgottenAtOnce})`,
    );
  }
}

/** Null: the change has no field that identifies a repetition. */
function keyOf({ lsn, seq, collection, documentId }: PushedChange): string | null {
  if (lsn !== undefined) return `lsn:${lsn}`;
  if (seq === undefined) return null;
  const key = JSON.stringify([collection, documentId, seq]);
  // An entry of an index is limited to 2,704 bytes.
  return key.length <= longestKey ? `seq:${key}` : `seq:${createHash('sha256').update(key).digest('hex')}`;
}
