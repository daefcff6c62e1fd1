import { type CommitPart, type JobRef, type PartRow, partRow } from '#jobs';

/** Identifies a call: by its ledger id if the same commit inserts it, otherwise by its position in the job. */
export type OutputOf = { readonly id: string } | { readonly round: number; readonly ordinal: number };

type OutputRow = readonly [
  workspaceId: string,
  jobId: string,
  id: string | null,
  round: number | null,
  ordinal: number | null,
  text: string,
];

const outputs: CommitPart<OutputRow> = {
  name: 'tool_outputs',
  columns: [
    ['workspace_id', 'uuid'],
    ['job_id', 'uuid'],
    ['id', 'uuid'],
    ['round', 'int'],
    ['ordinal', 'int'],
    ['text', 'text'],
  ],
  // A call that this statement inserts is not visible in the table yet. The row then has the call's id, and the foreign key checks it at the
  // end of the statement.
  sql: (rows) => `INSERT INTO tool_output (workspace_id, tool_call_id, job_id, text, bytes)
  SELECT r.workspace_id, coalesce(r.id, t.id), r.job_id, r.text, octet_length(r.text)
    FROM ${rows} r
    LEFT JOIN tool_call t ON t.workspace_id = r.workspace_id AND t.job_id = r.job_id AND t.round = r.round AND t.ordinal = r.ordinal
  RETURNING 1`,
};

/** Stores the complete text of a result (`toKeptResult(…).whole`), in the commit that settles the call. */
export function keepOutputRow(job: JobRef, call: OutputOf, whole: string): PartRow {
  const [id, round, ordinal] = 'id' in call ? [call.id, null, null] : [null, call.round, call.ordinal];
  return partRow(outputs, [job.workspaceId, job.jobId, id, round, ordinal, whole]);
}
