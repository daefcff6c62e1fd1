import { insertMessagesSql } from '#platform';

import { type CommitPart, type PartRow, partRow } from '../events/commit-part.js';

type Row = readonly [workspaceId: string, jobId: string, queue: string];

/** Doorbells within a bigger write: they ring if, and only if, what makes the jobs runnable is stored. One message per kind. */
const doorbells: CommitPart<Row> = {
  name: 'doorbells',
  columns: [
    ['workspace_id', 'uuid'],
    ['job_id', 'uuid'],
    ['queue', 'text'],
  ],
  sql: (rows) => `SELECT r.* FROM ${rows} r`,
  beside: (_, written) => ({
    name: 'rung',
    sql: insertMessagesSql(`(SELECT gen_random_uuid() AS id, r.queue, 0 AS priority, interval '0' AS delay, NULL::text AS topic,
        NULL::text AS owner, jsonb_build_object('jobs', jsonb_agg(
          jsonb_build_object('workspaceId', r.workspace_id, 'jobId', r.job_id))) AS data
      FROM ${written} r GROUP BY r.queue) m`),
  }),
};

/** The queue a kind's doorbells hang in. */
export function doorbellQueue(kind: string): string {
  return `doorbell.${kind}`;
}

/** Rings for a job. */
export function doorbellRow(job: {
  readonly workspaceId: string;
  readonly jobId: string;
  readonly kind: string;
}): PartRow {
  return partRow(doorbells, [job.workspaceId, job.jobId, doorbellQueue(job.kind)]);
}
