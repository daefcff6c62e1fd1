import { Injectable } from '@nestjs/common';

import { type CommitPart, type ExpiredRows, type JobRef, type JobStatus, type PartRow, partRow } from '#jobs';
import { type Prisma, PrismaService, type PrismaTransaction, violatedConstraint } from '#platform';

import type { SyntrixDocument } from './syntrix-client.js';
import { sha256 } from './syntrix-delivery.js';
import type { SyntrixReference } from './syntrix-reference.js';

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

/** A job of a connection that has ended. */
export interface EndedJob {
  readonly workspaceId: string;
  readonly jobId: string;
  readonly status: JobStatus;
  readonly reference: SyntrixReference;
  /** Whether the job ran the call of a tool document. */
  readonly isCall: boolean;
  readonly error: string | null;
}

/** Accepted deliveries, and which job answers which turn of a chat. Both are kept for 7 days. */
@Injectable()
export class SyntrixDeliveriesRepository implements ExpiredRows {
  constructor(private readonly prisma: PrismaService) {}

  /** Whether the delivery was accepted before. */
  async isKnown({ workspaceId, connectionId }: ConnectionRef, key: string): Promise<boolean> {
    const where = { workspaceId, connectionId, key };
    return (await this.prisma.withWorkspace({ workspaceId }, (tx) => tx.syntrixDelivery.count({ where }))) > 0;
  }

  /**
   * Takes the turn for the job: `newest` is stored, unless this job stored it before. False: another job has the turn, and has not failed.
   * `retryOf`: the job that this one retries, whose turn it may take.
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
      const taken = await tx.syntrixTurn.findUnique({ where: { workspaceId_connectionId_key: where } });
      if (taken !== null && (taken.jobId === retryOf || (await hasFailed(tx, workspaceId, taken.jobId))))
        await tx.syntrixTurn.updateMany({ where: { ...where, jobId: taken.jobId }, data: { jobId, newest: value } });
      return (await tx.syntrixTurn.count({ where: { ...where, jobId } })) > 0;
    });
  }

  /** Called before several documents are written for the turn of the job: if the job ends between two of them, the rest is written later. */
  async planDocuments(workspaceId: string, jobId: string, documents: readonly SyntrixDocument[]): Promise<void> {
    await this.prisma.withWorkspace(
      { workspaceId },
      (tx) =>
        tx.$executeRaw`UPDATE syntrix_turn SET newest = newest || ${JSON.stringify({ documents })}::jsonb
          WHERE workspace_id = ${workspaceId}::uuid AND job_id = ${jobId}::uuid`,
    );
  }

  /** The documents that `planDocuments` stored. */
  async plannedDocuments({ workspaceId, jobId }: JobRef): Promise<readonly SyntrixDocument[]> {
    const row = await this.prisma.withWorkspace({ workspaceId }, (tx) =>
      tx.syntrixTurn.findUnique({ where: { workspaceId_jobId: { workspaceId, jobId } } }),
    );
    return (row?.newest as { documents?: readonly SyntrixDocument[] } | undefined)?.documents ?? []; // as stored above
  }

  /** Null: it was deleted. */
  async jobOf({ workspaceId, jobId }: JobRef): Promise<EndedJob | null> {
    const where = { workspaceId_id: { workspaceId, id: jobId } };
    const select = { status: true, input: true, error: true } as const;
    const row = await this.prisma.withWorkspace({ workspaceId }, (tx) => tx.job.findUnique({ where, select }));
    if (row === null) return null;
    const { external, call } = row.input as unknown as { external: SyntrixReference; call?: object }; // a chat input
    const error = (row.error as { message: string } | null)?.message ?? null;
    const status = row.status as JobStatus; // the table has a check constraint
    return { workspaceId, jobId, status, reference: external, isCall: call !== undefined, error };
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

  async deleteExpired(workspaceId: string): Promise<number> {
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

/** A job that ended without a response leaves its turn to another job. */
async function hasFailed(tx: PrismaTransaction, workspaceId: string, id: string): Promise<boolean> {
  return (await tx.job.count({ where: { workspaceId, id, status: { in: ['failed', 'cancelled'] } } })) > 0;
}
