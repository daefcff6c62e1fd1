import type { TestDatabase } from './database.js';

/** The fields of a node run that differ from a completed top-level agent run. */
export interface LaidOutRun {
  readonly nodeId: string;
  readonly type?: string;
  readonly label?: string;
  readonly path?: readonly string[];
  readonly iteration?: readonly number[];
  readonly status?: string;
  readonly input?: string;
  readonly output?: string;
  readonly handles?: readonly string[];
  readonly extra?: object;
  readonly error?: object;
  readonly tokens?: number;
}

/** Inserts node runs and the status of a job as a worker would write them. */
export async function layOutNodeRuns(
  { postgres }: TestDatabase,
  job: { readonly workspaceId: string; readonly jobId: string; readonly status: string },
  runs: readonly LaidOutRun[],
): Promise<void> {
  for (const [index, run] of runs.entries()) {
    const { nodeId, type = 'agent', label = nodeId, path = [], iteration = [], status = 'completed' } = run;
    const hasEnded = ['completed', 'error', 'skipped', 'cancelled'].includes(status);
    const handles = status === 'completed' ? (run.handles ?? ['output']) : (run.handles ?? null);
    await postgres.workerPool.query(
      `INSERT INTO node_run (workspace_id, job_id, ordinal, node_id, path, iteration, type, label, status, input, output, handles,
         extra, error, completion_tokens, epoch, started_at, finished_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, 1, now(), CASE WHEN $16 THEN now() END)`,
      [
        ...[job.workspaceId, job.jobId, index + 1, nodeId, path, iteration, type, label, status],
        ...[
          run.input ?? '',
          run.output ?? null,
          handles,
          run.extra ?? {},
          run.error ?? null,
          run.tokens ?? 0,
          hasEnded,
        ],
      ],
    );
  }
  const hasEnded = ['completed', 'failed', 'cancelled'].includes(job.status);
  await postgres.workerPool.query(
    `UPDATE job SET status = $3, finished_at = CASE WHEN $4 THEN now() END WHERE workspace_id = $1 AND id = $2`,
    [job.workspaceId, job.jobId, job.status, hasEnded],
  );
}
