import { type AuditEntryRow, newId, type Prisma, type PrismaTransaction } from '#platform';

/** Who did what. Never changed once written. */
export interface AuditEntry {
  readonly id: string;
  /** In ms since the epoch, by the database's clock. */
  readonly at: number;
  /** The principal's id: `user:<id>`, `key:<id>` or `system`. */
  readonly actor: string;
  /** `<noun>-<what happened>`, as events are named. */
  readonly action: string;
  readonly subjectType: string;
  readonly subjectId: string;
  /** Never a secret. */
  readonly details: unknown;
}

/** An entry to be written. */
export interface NewAuditEntry extends Omit<AuditEntry, 'id' | 'at' | 'details'> {
  readonly workspaceId: string;
  readonly details?: Prisma.InputJsonObject;
}

/** The append-only audit. Entries are written in the transaction of what they tell of. */
export class AuditRepository {
  async append(tx: PrismaTransaction, entry: NewAuditEntry): Promise<void> {
    await tx.auditEntry.create({ data: { ...entry, id: newId(), details: entry.details ?? {} } });
  }

  /** Newest first, older than `after`. The caller has asked the ability. */
  async list(
    tx: PrismaTransaction,
    page: { workspaceId: string; take: number; after: string | undefined },
  ): Promise<AuditEntry[]> {
    const { workspaceId, take, after } = page;
    const rows = await tx.auditEntry.findMany({
      where: { workspaceId, ...(after === undefined ? {} : { id: { lt: after } }) },
      orderBy: { id: 'desc' },
      take,
    });
    return rows.map(toAuditEntry);
  }
}

function toAuditEntry({ id, at, actor, action, subjectType, subjectId, details }: AuditEntryRow): AuditEntry {
  return { id, at: at.getTime(), actor, action, subjectType, subjectId, details };
}
