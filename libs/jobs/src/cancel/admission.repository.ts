import { Injectable } from '@nestjs/common';

import { PrismaService, type Scope } from '#platform';

/** Idempotency keys, as a cancel uses them. */
@Injectable()
export class AdmissionRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** The job that `key` has started, or null after leaving a durable marker in its place. */
  findOrMark(scope: Scope, key: string): Promise<string | null> {
    const { workspaceId, principal } = scope;
    return this.prisma.withWorkspace(scope, async (tx) => {
      // A start takes the same lock: whichever commits first is seen by the other.
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
