import { newId } from '../ids.js';
import type { Prisma } from './generated/prisma/client.js';
import type { PrismaTransaction } from './prisma.service.js';

/** Who did what. */
export interface NewAuditEntry {
  readonly workspaceId: string;
  /** The principal's id: `user:<id>`, `key:<id>` or `system`. */
  readonly actor: string;
  /** `<noun>-<what happened>`, as events are named. */
  readonly action: string;
  readonly subjectType: string;
  readonly subjectId: string;
  /** Never a secret. */
  readonly details?: Prisma.InputJsonObject;
}

/** Appends to the audit, in the transaction of the change that the entry records. No role of a process changes or deletes entries. */
export async function appendAudit(tx: Pick<PrismaTransaction, 'auditEntry'>, entry: NewAuditEntry): Promise<void> {
  await tx.auditEntry.createMany({ data: [{ ...entry, id: newId(), details: entry.details ?? {} }] });
}
