import { Injectable } from '@nestjs/common';

import { type CommitPart, type Forgetter, type PartRow, partRow } from '#jobs';
import { type Prisma, PrismaService, violatedConstraint } from '#platform';

import { sha256 } from './syntrix-delivery.js';

type Row = readonly [workspaceId: string, jobId: string, connectionId: string, key: string];

const deliveries: CommitPart<Row> = {
  name: 'syntrix_deliveries',
  columns: [
    ['workspace_id', 'uuid'],
    ['job_id', 'uuid'],
    ['connection_id', 'uuid'],
    ['key', 'text'],
  ],
  sql: (rows) => `INSERT INTO syntrix_delivery (workspace_id, connection_id, key, job_id)
  SELECT r.workspace_id, r.connection_id, r.key, r.job_id FROM ${rows} r RETURNING 1`,
};

/** Marks a delivery as accepted, in the transaction that starts its job; it can be marked once. */
export function deliveryRow(
  job: { readonly workspaceId: string; readonly jobId: string },
  { connectionId, key }: { readonly connectionId: string; readonly key: string },
): PartRow {
  return partRow(deliveries, [job.workspaceId, job.jobId, connectionId, key]);
}

/** Whether a start failed because its delivery was accepted before. */
export function isAcceptedBefore(error: unknown): boolean {
  return violatedConstraint(error) === 'syntrix_delivery_pkey';
}

interface ConnectionRef {
  readonly workspaceId: string;
  readonly connectionId: string;
}

const retentionMs = 7 * 86_400_000;
const forgottenAtOnce = 1_000;

/** Accepted deliveries, and which job answers which turn of a chat. Both are kept for 7 days. */
@Injectable()
export class SyntrixDeliveriesRepository implements Forgetter {
  constructor(private readonly prisma: PrismaService) {}

  /** Whether the delivery is known, and how many were accepted in the last second. */
  async state(
    { workspaceId, connectionId }: ConnectionRef,
    key: string,
  ): Promise<{ isKnown: boolean; recent: number }> {
    const where = { workspaceId, connectionId };
    return this.prisma.withWorkspace({ workspaceId }, async (tx) => {
      const known = await tx.syntrixDelivery.count({ where: { ...where, key } });
      const receivedAt = { gt: new Date(Date.now() - 1_000) };
      return { isKnown: known > 0, recent: await tx.syntrixDelivery.count({ where: { ...where, receivedAt } }) };
    });
  }

  /**
   * Takes the turn for the job: `newest` is stored, unless this job stored it before. False: another job has the turn. `retryOf`: the job that
   * this one retries, whose turn it may take.
   */
  takeTurn(
    { workspaceId, connectionId }: ConnectionRef,
    turn: { readonly key: string; readonly jobId: string; readonly newest: unknown; readonly retryOf: string | null },
  ): Promise<boolean> {
    const { jobId, newest, retryOf } = turn;
    const key = sha256(turn.key);
    const value = { turnKey: turn.key, newest: newest ?? null } as Prisma.InputJsonObject; // it came as JSON
    return this.prisma.withWorkspace({ workspaceId }, async (tx) => {
      await tx.syntrixTurn.deleteMany({ where: { workspaceId, jobId, key: { not: key } } });
      const where = { workspaceId, connectionId, key };
      await tx.syntrixTurn.createMany({ data: [{ ...where, jobId, newest: value }], skipDuplicates: true });
      if (retryOf !== null)
        await tx.syntrixTurn.updateMany({ where: { ...where, jobId: retryOf }, data: { jobId, newest: value } });
      return (await tx.syntrixTurn.count({ where: { ...where, jobId } })) > 0;
    });
  }

  /** The turn that the job has taken; null: none. */
  async turnOf(workspaceId: string, jobId: string): Promise<{ readonly key: string; readonly newest: unknown } | null> {
    const row = await this.prisma.withWorkspace({ workspaceId }, (tx) =>
      tx.syntrixTurn.findUnique({ where: { workspaceId_jobId: { workspaceId, jobId } } }),
    );
    if (row === null) return null;
    const { turnKey, newest } = row.newest as { turnKey: string; newest: unknown }; // as `takeTurn` stores it
    return { key: turnKey, newest };
  }

  async forget(workspaceId: string): Promise<number> {
    const before = new Date(Date.now() - retentionMs);
    return this.prisma.withWorkspace({ workspaceId }, async (tx) => {
      const deliveriesOf = await tx.syntrixDelivery.deleteMany({
        where: { workspaceId, receivedAt: { lt: before } },
        limit: forgottenAtOnce,
      });
      const turns = await tx.syntrixTurn.deleteMany({
        where: { workspaceId, createdAt: { lt: before } },
        limit: forgottenAtOnce,
      });
      return deliveriesOf.count + turns.count;
    });
  }
}
