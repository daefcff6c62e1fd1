import { Injectable } from '@nestjs/common';

import { isId, PrismaService, type Scope, toStorableText } from '#platform';

/** Finds questions of workflow jobs by the ids that clients use. */
@Injectable()
export class HitlRequestsRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** The server id of a question of this job, found by itself or by the id in its request. Null: the scope may read no such question. */
  findInScope(
    scope: Scope,
    { jobId, requestId }: { readonly jobId: string; readonly requestId: string },
  ): Promise<string | null> {
    if (!isId(jobId)) return Promise.resolve(null);
    return this.prisma.withWorkspace(scope, async (tx) => {
      const shown = { request: { path: ['id'], equals: toStorableText(requestId) } };
      const named = [shown, ...(isId(requestId) ? [{ id: requestId }] : [])];
      const row = await tx.interrupt.findFirst({
        where: {
          workspaceId: scope.workspaceId,
          jobId,
          kind: { in: ['human_input', 'wait'] },
          job: { is: scope.where('Job') },
          OR: named,
        },
        select: { id: true },
      });
      return row?.id ?? null;
    });
  }
}
