import { Injectable } from '@nestjs/common';

import { ShownTextsRepository } from '#jobs';
import { Postgres } from '#platform';

import type { NodeRunRow } from '../engine/node-run.js';
import type { NodeRunFacts } from './node-run-part.repository.js';
import type { ShownContent } from './run-facts.js';

/** A question that a node asked, as its request stands. */
export interface StoredQuestion {
  readonly id: string;
  readonly nodeRun: number;
  readonly key: string;
  readonly status: 'open' | 'resolved' | 'expired' | 'cancelled';
  readonly outcome: { readonly outcome: string; readonly answer?: { readonly data?: unknown } } | null;
}

/** What was stored of a run. */
export interface StoredRun {
  readonly nodeRuns: readonly (NodeRunRow & NodeRunFacts)[];
  readonly questions: readonly StoredQuestion[];
}

interface Row {
  readonly runs: StoredRun['nodeRuns'] | null;
  readonly questions: readonly StoredQuestion[] | null;
}

const millis = (column: string) => `(extract(epoch FROM ${column}) * 1000)::float8`;

const questionsSql = `(SELECT json_agg(json_build_object('id', i.id, 'nodeRun', (i.request->>'nodeRun')::int,
      'key', i.request->>'key', 'status', i.status, 'outcome', i.outcome))
     FROM interrupt i WHERE i.workspace_id = $1 AND i.job_id = $2 AND i.request ? 'nodeRun')`;

/** The row of a node run that is at work was written before its rounds: what it has used so far is on them. */
const tokens = (
  column: string,
) => `CASE WHEN n.finished_at IS NOT NULL THEN n.${column} ELSE (SELECT coalesce(sum(r.${column}), 0)
      FROM round r WHERE r.workspace_id = n.workspace_id AND r.job_id = n.job_id AND r.node_run = n.ordinal) END`;

/** One statement, so that nothing in it disagrees. */
const storedSql = `SELECT (SELECT json_agg(json_build_object('ordinal', n.ordinal, 'nodeId', n.node_id, 'path', n.path,
      'iteration', n.iteration, 'type', n.type, 'label', n.label, 'status', n.status, 'input', n.input, 'output', n.output,
      'handles', n.handles, 'handOn', n.hand_on, 'extra', n.extra, 'error', n.error, 'promptTokens', ${tokens('prompt_tokens')},
      'completionTokens', ${tokens('completion_tokens')}, 'startedAt', ${millis('n.started_at')}, 'finishedAt', ${millis('n.finished_at')})
      ORDER BY n.ordinal) FROM node_run n WHERE n.workspace_id = $1 AND n.job_id = $2) AS runs,
  ${questionsSql} AS questions`;

interface JobRef {
  readonly workspaceId: string;
  readonly jobId: string;
}

/** Reads what a workflow job has done so far, as the API's role inside its workspace. */
@Injectable()
export class NodeRunsRepository {
  constructor(
    private readonly postgres: Postgres,
    private readonly shown: ShownTextsRepository,
  ) {}

  async load({ workspaceId, jobId }: JobRef): Promise<StoredRun> {
    const [row] = await this.postgres.readInWorkspace<Row & Record<string, unknown>>(workspaceId, {
      name: 'stored-workflow-run',
      text: storedSql,
      values: [workspaceId, jobId],
    });
    return { nodeRuns: row?.runs ?? [], questions: row?.questions ?? [] };
  }

  /** What its log shows as content. */
  async contentOf(job: JobRef): Promise<ShownContent> {
    const { text, reasoning } = await this.shown.read(job);
    return { text: joined(text), reasoning: joined(reasoning) };
  }

  /** How the questions of its nodes stand by now. */
  async questions({ workspaceId, jobId }: JobRef): Promise<readonly StoredQuestion[]> {
    const [row] = await this.postgres.readInWorkspace<Pick<Row, 'questions'> & Record<string, unknown>>(workspaceId, {
      name: 'node-questions',
      text: `SELECT ${questionsSql} AS questions`,
      values: [workspaceId, jobId],
    });
    return row?.questions ?? [];
  }
}

function joined(pieces: readonly { readonly text: string }[]): string {
  return pieces.map(({ text }) => text).join('');
}
