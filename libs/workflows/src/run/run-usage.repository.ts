import { Injectable } from '@nestjs/common';

import type { JobRef } from '#jobs';
import { Postgres } from '#platform';

import type { UsedByModel } from '../definitions/run-spending.js';

/** Depth is bounded when jobs are started. */
const usageSql = `WITH RECURSIVE tree AS (
  SELECT id FROM job WHERE workspace_id = $1 AND id = $2
  UNION
  SELECT j.id FROM tree t JOIN job j ON j.workspace_id = $1 AND j.parent_job_id = t.id)
SELECT t.id = $2 AS "isOwn", r.model, sum(r.prompt_tokens)::float8 AS "promptTokens", sum(r.completion_tokens)::float8 AS "completionTokens"
  FROM tree t JOIN round r ON r.workspace_id = $1 AND r.job_id = t.id
 WHERE r.prompt_tokens + r.completion_tokens > 0 GROUP BY 1, 2`;

/** What the rounds of a job and of all jobs below it have used, as far as they are committed. */
@Injectable()
export class RunUsageRepository {
  constructor(private readonly postgres: Postgres) {}

  async read({
    workspaceId,
    jobId,
  }: JobRef): Promise<{ readonly own: readonly UsedByModel[]; readonly below: readonly UsedByModel[] }> {
    const statement = { name: 'run-usage', text: usageSql, values: [workspaceId, jobId] };
    const rows = await this.postgres.readInWorkspace<UsedByModel & { readonly isOwn: boolean }>(workspaceId, statement);
    return { own: rows.filter(({ isOwn }) => isOwn), below: rows.filter(({ isOwn }) => !isOwn) };
  }
}
