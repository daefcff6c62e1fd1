import { type CommitPart, type PartRow, partRow } from '#jobs';

import type { NodeRunRow } from '../engine/node-run.js';
import { unusualOf } from './node-run-columns.js';

interface JobOfRun {
  readonly workspaceId: string;
  readonly jobId: string;
  readonly format: number;
}

/** When a node run began and ended, in ms since the epoch by the worker's clock, and what it used. */
export interface NodeRunFacts {
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
  readonly promptTokens: number;
  readonly completionTokens: number;
}

type Row = readonly [
  workspaceId: string,
  jobId: string,
  ordinal: number,
  nodeId: string,
  path: readonly string[] | null,
  iteration: readonly number[] | null,
  type: string,
  label: string,
  status: string,
  input: string,
  output: string | null,
  handles: readonly string[] | null,
  handOn: string,
  extra: object,
  error: object | null,
  promptTokens: number,
  completionTokens: number,
  startedAt: number | null,
  finishedAt: number | null,
];

/** MERGE, because the job has one writer; INSERT … ON CONFLICT would write each row to the WAL twice. */
const nodeRuns: CommitPart<Row> = {
  name: 'node_runs',
  columns: [
    ['workspace_id', 'uuid'],
    ['job_id', 'uuid'],
    ['ordinal', 'int'],
    ['node_id', 'text'],
    ['path', 'text[]'],
    ['iteration', 'int[]'],
    ['type', 'text'],
    ['label', 'text'],
    ['status', 'text'],
    ['input', 'text'],
    ['output', 'text'],
    ['handles', 'text[]'],
    ['hand_on', 'text'],
    ['extra', 'jsonb'],
    ['error', 'jsonb'],
    ['prompt_tokens', 'int'],
    ['completion_tokens', 'int'],
    ['started_at', 'float8'],
    ['finished_at', 'float8'],
  ],
  sql: (rows) => `MERGE INTO node_run n
  USING ${rows} r
     ON n.workspace_id = r.workspace_id AND n.job_id = r.job_id AND n.ordinal = r.ordinal
  WHEN MATCHED THEN UPDATE SET status = r.status, input = r.input, output = r.output, handles = r.handles,
    hand_on = r.hand_on, extra = r.extra, error = r.error, prompt_tokens = r.prompt_tokens,
    completion_tokens = r.completion_tokens, epoch = r.lease_epoch, finished_at = to_timestamp(r.finished_at / 1000)
  WHEN NOT MATCHED THEN INSERT (workspace_id, job_id, ordinal, node_id, path, iteration, type, label, status, input, output,
    handles, hand_on, extra, error, prompt_tokens, completion_tokens, epoch, started_at, finished_at)
  VALUES (r.workspace_id, r.job_id, r.ordinal, r.node_id, r.path, r.iteration, r.type, r.label, r.status, r.input, r.output,
    r.handles, r.hand_on, r.extra, r.error, r.prompt_tokens, r.completion_tokens, r.lease_epoch,
    to_timestamp(r.started_at / 1000), to_timestamp(r.finished_at / 1000))
  RETURNING 1`,
};

/** The current row of a node run. The last one in a write wins. */
export function nodeRunRow({ workspaceId, jobId, format }: JobOfRun, row: NodeRunRow, facts: NodeRunFacts): PartRow {
  const { ordinal, nodeId, type, label, status, input, output, handOn, extra, error } = row;
  const { path, iteration, handles } = unusualOf(row, format);
  const { promptTokens, completionTokens, startedAt, finishedAt } = facts;
  return partRow(
    nodeRuns,
    [
      ...([workspaceId, jobId, ordinal, nodeId, path, iteration, type, label, status] as const),
      ...([input, output, handles, handOn, extra, error] as const),
      ...([promptTokens, completionTokens, startedAt, finishedAt] as const),
    ],
    String(ordinal),
  );
}
