import { Injectable } from '@nestjs/common';

import { PrismaService, type Scope } from '#platform';

/** Idempotency keys of starts, as a cancel reads and marks them. */
@Injectable()
export class AdmissionRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** The job that `key` has started. Null if it has started none; a stored marker now rejects a later start. */
  findOrMark(scope: Scope, key: string): Promise<string | null> {
    const { workspaceId, principal } = scope;
    return this.prisma.withWorkspace(scope, async (tx) => {
      // A start takes the same lock, so the transaction that commits second sees the first.
      await tx.$queryRaw`SELECT id FROM workspace WHERE id = ${workspaceId}::uuid FOR NO KEY UPDATE`;
      const marked = { workspaceId, principal, key };
      const found = await tx.admission.findUnique({ where: { workspaceId_principal_key: marked } });
      if (found?.jobId != null) return found.jobId;
      const cancelledAt = new Date();
      await tx.admission.upsert({
        where: { workspaceId_principal_key: marked },
        create: { ...marked, cancelledAt },
        update: { cancelledAt },
      });
      return null;
    });
  }
}
