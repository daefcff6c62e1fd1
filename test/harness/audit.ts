import type { AuditEntryRow } from '#platform';

import type { TestDatabase } from './database.js';

/** The audit of a workspace, newest first. */
export function auditOf(
  { prisma }: Pick<TestDatabase, 'prisma'>,
  { workspaceId }: { readonly workspaceId: string },
): Promise<AuditEntryRow[]> {
  const where = { workspaceId };
  return prisma.withWorkspace(where, (tx) => tx.auditEntry.findMany({ where, orderBy: { id: 'desc' } }));
}
