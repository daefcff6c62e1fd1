import { newId } from '../ids.js';
import type { Prisma } from './generated/prisma/client.js';
import type { PrismaTransaction } from './prisma.service.js';

/** An entry of the audit log: a principal and its action. */
export interface NewAuditEntry {
  readonly workspaceId: string;
  /** The principal's id: `user:<id>`, `key:<id>` or `system`. */
  readonly actor: string;
  /** `<noun>-<past participle>`, in the style of event names. */
  readonly action: string;
  readonly subjectType: string;
  readonly subjectId: string;
  /** Never contains a secret. */
  readonly details?: Prisma.InputJsonObject;
}

/** Adds an entry to the audit log, in the transaction of the change that it records. No role of a process may change or delete entries. */
export async function appendAudit(tx: Pick<PrismaTransaction, 'auditEntry'>, entry: NewAuditEntry): Promise<void> {
  await tx.auditEntry.createMany({ data: [{ ...entry, id: newId(), details: entry.details ?? {} }] });
}
