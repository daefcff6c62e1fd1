import { Injectable } from '@nestjs/common';

import { type Prisma, PrismaService, type Scope } from '#platform';

import { workflowsBySlug } from './workflow-slugs.js';

/** A workflow that can be run. */
export interface PublishedWorkflow {
  readonly id: string;
  /** Its name as an id: it stands for it outside. */
  readonly slug: string;
  readonly name: string;
  readonly description: string;
  /** Ms since the epoch. */
  readonly createdAt: number;
}

/** What can be run in a workspace. */
@Injectable()
export class PublishedWorkflowsRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Those that the scope may read, by name. Workflows that are not published keep their slugs for themselves. */
  async list(scope: Scope): Promise<readonly PublishedWorkflow[]> {
    const where: Prisma.WorkflowWhereInput = {
      AND: [scope.where('Workflow'), { workspaceId: scope.workspaceId, deletedAt: null }],
    };
    const rows = await this.prisma.withWorkspace(scope, (tx) =>
      tx.workflow.findMany({
        where,
        orderBy: { name: 'asc' },
        select: { id: true, name: true, description: true, createdAt: true, publishedVersion: true },
      }),
    );
    return [...workflowsBySlug(rows)].flatMap(([slug, { id, name, description, createdAt, publishedVersion }]) =>
      publishedVersion === null ? [] : [{ id, slug, name, description, createdAt: createdAt.getTime() }],
    );
  }
}
