import { type CommitPart, type PartRow, partRow } from '#jobs';

import type { NodeRunRow } from '../engine/node-run.js';

interface JobRef {
  readonly workspaceId: string;
  readonly jobId: string;
}

/** When a node run began and ended, in ms since the epoch by the worker's clock, and what it used. */
export interface NodeRunFacts {
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
  readonly promptTokens: number;
  readonly completionTokens: number;
}

type Row = readonly [workspaceId: string, jobId: string, ordinal: number, body: object];

const nodeRuns: CommitPart<Row> = {
  name: 'node_runs',
  columns: [
    ['workspace_id', 'uuid'],
    ['job_id', 'uuid'],
    ['ordinal', 'int'],
    ['body', 'json'],
  ],
  sql: (
    rows,
  ) => `INSERT INTO node_run (workspace_id, job_id, ordinal, node_id, path, iteration, type, label, status, input,
    output, handles, hand_on, extra, error, prompt_tokens, completion_tokens, epoch, started_at, finished_at)
  SELECT r.workspace_id, r.job_id, r.ordinal, b."nodeId", b.path, b.iteration, b.type, b.label, b.status, b.input,
    b.output, b.handles, b."handOn", b.extra, b.error, b."promptTokens", b."completionTokens", up.lease_epoch,
    to_timestamp(b."startedAt" / 1000), to_timestamp(b."finishedAt" / 1000)
    FROM ${rows} r JOIN up ON up.workspace_id = r.workspace_id AND up.id = r.job_id,
      json_to_record(r.body) AS b("nodeId" text, path text[], iteration int[], type text, label text, status text, input text,
        output text, handles text[], "handOn" text, extra jsonb, error jsonb, "promptTokens" int, "completionTokens" int,
        "startedAt" float8, "finishedAt" float8)
  ON CONFLICT (workspace_id, job_id, ordinal) DO UPDATE SET status = excluded.status, input = excluded.input,
    output = excluded.output, handles = excluded.handles, hand_on = excluded.hand_on, extra = excluded.extra,
    error = excluded.error, prompt_tokens = excluded.prompt_tokens, completion_tokens = excluded.completion_tokens,
    epoch = excluded.epoch, finished_at = excluded.finished_at
  RETURNING 1`,
};

/** A node run as it now stands; of several that wait for one write the last one counts. */
export function nodeRunRow(job: JobRef, row: NodeRunRow, facts: NodeRunFacts): PartRow {
  const { ordinal, ...body } = row;
  return partRow(nodeRuns, [job.workspaceId, job.jobId, ordinal, { ...body, ...facts }], String(ordinal));
}
