import { Injectable } from '@nestjs/common';

import type { JobRef } from '#jobs';
import { Prisma, PrismaService } from '#platform';

import type { UsedByModel } from '../definitions/run-spending.js';

/** The start of jobs limits the depth. */
const usageOf = ({ workspaceId, jobId }: JobRef) => Prisma.sql`WITH RECURSIVE tree AS (
  SELECT id FROM job WHERE workspace_id = ${workspaceId}::uuid AND id = ${jobId}::uuid
  UNION
  SELECT j.id FROM tree t JOIN job j ON j.workspace_id = ${workspaceId}::uuid AND j.parent_job_id = t.id)
SELECT t.id = ${jobId}::uuid AS "isOwn", r.model, sum(r.prompt_tokens)::float8 AS "promptTokens", sum(r.completion_tokens)::float8 AS "completionTokens"
  FROM tree t JOIN round r ON r.workspace_id = ${workspaceId}::uuid AND r.job_id = t.id
 WHERE r.prompt_tokens + r.completion_tokens > 0 GROUP BY 1, 2`;

/** The usage of the committed rounds of a job and of all its descendants. */
@Injectable()
export class RunUsageRepository {
  constructor(private readonly prisma: PrismaService) {}

  async read(
    job: JobRef,
  ): Promise<{ readonly own: readonly UsedByModel[]; readonly descendants: readonly UsedByModel[] }> {
    const rows = await this.prisma.queryInWorkspace<UsedByModel & { readonly isOwn: boolean }>(job, usageOf(job));
    return { own: rows.filter(({ isOwn }) => isOwn), descendants: rows.filter(({ isOwn }) => !isOwn) };
  }
}
