import { insertMessagesSql } from '#platform';

import { type CommitPart, type PartRow, partRow } from '../events/commit-part.js';

type Row = readonly [workspaceId: string, jobId: string, queue: string];

/** A doorbell within the group commit: it rings if, and only if, the write that makes the job runnable is stored. */
const doorbells: CommitPart<Row> = {
  name: 'doorbells',
  columns: [
    ['workspace_id', 'uuid'],
    ['job_id', 'uuid'],
    ['queue', 'text'],
  ],
  sql: (rows) =>
    insertMessagesSql(`(SELECT gen_random_uuid() AS id, r.queue, 0 AS priority, interval '0' AS delay, NULL::text AS topic,
        NULL::text AS owner, jsonb_build_object('jobs', jsonb_build_array(
          jsonb_build_object('workspaceId', r.workspace_id, 'jobId', r.job_id))) AS data
      FROM ${rows} r JOIN up ON up.workspace_id = r.workspace_id AND up.id = r.job_id) m`),
};

/** The queue a kind's doorbells hang in. */
export function doorbellQueue(kind: string): string {
  return `doorbell.${kind}`;
}

/** Rings for a job that its own worker gives back. */
export function doorbellRow(job: {
  readonly workspaceId: string;
  readonly jobId: string;
  readonly kind: string;
}): PartRow {
  return partRow(doorbells, [job.workspaceId, job.jobId, doorbellQueue(job.kind)]);
}
