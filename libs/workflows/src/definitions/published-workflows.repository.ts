import { Injectable } from '@nestjs/common';

import { type Prisma, PrismaService, type Scope } from '#platform';

/** A workflow with a published version. */
export interface PublishedWorkflow {
  readonly id: string;
  /** Identifies the workflow in public APIs, independent of its name. */
  readonly slug: string;
  readonly name: string;
  readonly description: string;
  /** Ms since the epoch. */
  readonly createdAt: number;
}

/** The published workflows of a workspace. */
@Injectable()
export class PublishedWorkflowsRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Those that the scope may read, by name. */
  async list(scope: Scope): Promise<readonly PublishedWorkflow[]> {
    const isPublished = { deletedAt: null, publishedVersion: { not: null } };
    const where: Prisma.WorkflowWhereInput = {
      AND: [scope.where('Workflow'), { workspaceId: scope.workspaceId, ...isPublished }],
    };
    const rows = await this.prisma.withWorkspace(scope, (tx) =>
      tx.workflow.findMany({
        where,
        orderBy: { name: 'asc' },
        select: { id: true, slug: true, name: true, description: true, createdAt: true },
      }),
    );
    return rows.map((row) => ({ ...row, createdAt: row.createdAt.getTime() }));
  }
}
