import { type CommitPart, type PartRow, partRow } from '../events/commit-part.js';

/** A round to be committed. */
export interface NewRound {
  readonly number: number;
  readonly model: string;
  readonly text: string;
  readonly reasoning: string;
  readonly finishReason: string;
  /** The round was shown but its job ended before the round finished. */
  readonly partial: boolean;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly usageEstimated: boolean;
  /** Ms since the epoch. */
  readonly startedAt: number;
  /** For workflow jobs: the number of the node run, and the branch of the node that called the model. */
  readonly nodeRun?: number;
  readonly branch?: string | null;
  /** JSON arguments of a call to the output tool, which is never run. Absent if the model did not call it. */
  readonly captured?: string;
}

type Row = readonly [
  workspaceId: string,
  jobId: string,
  number: number,
  model: string,
  text: string,
  reasoning: string,
  finishReason: string,
  partial: boolean,
  prompt: number,
  completion: number,
  estimated: boolean,
  startedAt: number,
  nodeRun: number | null,
  branch: string | null,
  captured: string | null,
];

const rounds: CommitPart<Row> = {
  name: 'rounds',
  columns: [
    ['workspace_id', 'uuid'],
    ['job_id', 'uuid'],
    ['number', 'int'],
    ['model', 'text'],
    ['text', 'text'],
    ['reasoning', 'text'],
    ['finish_reason', 'text'],
    ['partial', 'bool'],
    ['prompt', 'int'],
    ['completion', 'int'],
    ['estimated', 'bool'],
    ['started_at', 'float8'],
    ['node_run', 'int'],
    ['branch', 'text'],
    ['captured', 'text'],
  ],
  sql: (rows) => `INSERT INTO round (workspace_id, job_id, number, model, text, reasoning, finish_reason, partial,
    prompt_tokens, completion_tokens, usage_estimated, epoch, started_at, finished_at, node_run, branch, captured)
  SELECT r.workspace_id, r.job_id, r.number, r.model, r.text, r.reasoning, r.finish_reason, r.partial, r.prompt,
    r.completion, r.estimated, r.lease_epoch, to_timestamp(r.started_at / 1000), clock_timestamp(), r.node_run, r.branch,
    r.captured
    FROM ${rows} r RETURNING 1`,
};

/** The row of a round, which commits with its calls and its event. */
export function roundRow(job: { readonly workspaceId: string; readonly jobId: string }, round: NewRound): PartRow {
  return partRow(rounds, [
    job.workspaceId,
    job.jobId,
    round.number,
    round.model,
    round.text,
    round.reasoning,
    round.finishReason,
    round.partial,
    round.promptTokens,
    round.completionTokens,
    round.usageEstimated,
    round.startedAt,
    round.nodeRun ?? null,
    round.branch ?? null,
    round.captured ?? null,
  ]);
}
