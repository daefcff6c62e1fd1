import { type CommitPart, type PartRow, partRow } from '../events/commit-part.js';
import type { JobEnd } from '../events/job-finished.js';
import { personKinds } from '../interrupt.js';
import { unwatched } from '../presence/presence.repository.js';
import type { NotificationType } from './notification.js';

type Row = readonly [workspaceId: string, jobId: string, id: string, type: NotificationType];

const insert = 'INSERT INTO notification (workspace_id, id, user_id, type, job_id, interrupt_id, created_at)';

/** Notifies of an end in the statement that ends the job, so it sees the viewers of that moment. */
const ends: CommitPart<Row> = {
  name: 'job_ends',
  columns: [
    ['workspace_id', 'uuid'],
    ['job_id', 'uuid'],
    ['id', 'uuid'],
    ['type', 'text'],
  ],
  sql: (rows) => `SELECT 1 FROM ${rows}`,
  beside: (rows) => ({
    name: 'notified_ends',
    sql: `${insert}
  SELECT r.workspace_id, r.id, up.created_by, r.type, r.job_id, NULL, clock_timestamp()
    FROM ${rows} r JOIN up ON up.workspace_id = r.workspace_id AND up.id = r.job_id
   WHERE up.created_by IS NOT NULL AND ${unwatched('r.workspace_id', ['r.job_id'])}
  ON CONFLICT DO NOTHING`,
  }),
};

/**
 * The notification of an end, for the write that ends the job. Empty for a job without a starter, for a cancel, and for the end of a sub-job.
 */
export function endNotifications(
  job: {
    readonly workspaceId: string;
    readonly jobId: string;
    readonly createdBy: string | null;
    readonly parentJobId: string | null;
  },
  { status }: JobEnd,
  id: string,
): PartRow[] {
  if (status === 'cancelled' || job.createdBy === null || job.parentJobId !== null) return [];
  return [partRow(ends, [job.workspaceId, job.jobId, id, `job_${status}`])];
}

/**
 * Notifies of requests to people in the statement that opens them; `opened` has workspace_id, id, job_id, kind and refused of each. A
 * notification and its request share an id.
 */
export function notifyOfRequestsSql(opened: string): string {
  return `${insert}
  SELECT o.workspace_id, o.id, j.created_by, 'input_needed', o.job_id, o.id, clock_timestamp()
    FROM ${opened} o JOIN job j ON j.workspace_id = o.workspace_id AND j.id = o.job_id
   WHERE o.kind IN (${personKinds.map((kind) => `'${kind}'`).join(', ')}) AND NOT o.refused AND j.created_by IS NOT NULL
     AND ${unwatched('o.workspace_id', ['o.job_id', 'coalesce(j.root_job_id, o.job_id)'])}
  ON CONFLICT DO NOTHING`;
}
