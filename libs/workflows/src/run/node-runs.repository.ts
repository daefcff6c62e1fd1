import { Injectable } from '@nestjs/common';

import { type JobRef, ShownTextsRepository } from '#jobs';
import { Prisma, PrismaService } from '#platform';

import type { NodeRunRow } from '../engine/node-run.js';
import type { NodeRunFacts } from './node-run.part.js';
import { usualColumns } from './node-run-columns.js';
import type { PublishedNodeEvent, ShownContent } from './run-facts.js';

/** The request of a node's question. */
export interface StoredQuestion {
  readonly id: string;
  readonly nodeRun: number;
  readonly key: string;
  readonly status: 'open' | 'resolved' | 'expired' | 'cancelled';
  readonly outcome: {
    readonly outcome: string;
    /** `data`: of a question; `result` and `reason`: of an unknown outcome. */
    readonly answer?: { readonly data?: unknown; readonly result?: string | null; readonly reason?: string | null };
  } | null;
}

/** What nodes wait for: requests by id, calls as `<round>:<ordinal>`. */
export interface Awaited {
  readonly requests: readonly string[];
  readonly calls: readonly string[];
}

/** The settled ones among the awaited requests and calls. */
export interface Answers extends Awaited {
  /** Those of the requests that are questions of nodes. */
  readonly questions: readonly StoredQuestion[];
}

/** The stored state of a run. */
export interface StoredRun {
  readonly nodeRuns: readonly (NodeRunRow & NodeRunFacts)[];
  readonly questions: readonly StoredQuestion[];
  /** The published branch events of parallel nodes that have not ended. */
  readonly published: readonly PublishedNodeEvent[];
}

interface Row {
  readonly runs: StoredRun['nodeRuns'] | null;
  readonly published: StoredRun['published'] | null;
  readonly questions: readonly StoredQuestion[] | null;
}

type RequestRow = Pick<StoredQuestion, 'id' | 'status' | 'outcome'> & {
  readonly nodeRun: number | null;
  readonly key: string | null;
};

interface AnswersRow {
  readonly requests: readonly RequestRow[] | null;
  readonly calls: readonly string[] | null;
}

const millis = (column: string) => Prisma.raw(`(extract(epoch FROM ${column}) * 1000)::float8`);
const [path, iteration, handles] = [
  Prisma.raw(usualColumns.path),
  Prisma.raw(usualColumns.iteration),
  Prisma.raw(usualColumns.handles),
];

const request = Prisma.sql`json_build_object('id', i.id, 'nodeRun', (i.request->>'nodeRun')::int, 'key', i.request->>'key',
      'status', i.status, 'outcome', i.outcome)`;

/** The row of a running node was written before its rounds, so its usage is on the rounds. */
const tokens = (column: 'prompt_tokens' | 'completion_tokens') =>
  Prisma.raw(
    `CASE WHEN n.finished_at IS NOT NULL THEN n.${column} ELSE (SELECT coalesce(sum(r.${column}), 0)
      FROM round r WHERE r.workspace_id = n.workspace_id AND r.job_id = n.job_id AND r.node_run = n.ordinal) END`,
  );

/** One statement, so that all parts are of one instant. */
const storedRun = ({
  workspaceId,
  jobId,
}: JobRef) => Prisma.sql`SELECT (SELECT json_agg(json_build_object('ordinal', n.ordinal, 'nodeId', n.node_id, 'path', ${path},
      'iteration', ${iteration}, 'type', n.type, 'label', n.label, 'status', n.status, 'input', n.input, 'output', n.output,
      'handles', ${handles}, 'handOn', n.hand_on, 'extra', n.extra, 'error', n.error, 'promptTokens', ${tokens('prompt_tokens')},
      'completionTokens', ${tokens('completion_tokens')}, 'startedAt', ${millis('n.started_at')}, 'finishedAt', ${millis('n.finished_at')})
      ORDER BY n.ordinal) FROM node_run n WHERE n.workspace_id = ${workspaceId}::uuid AND n.job_id = ${jobId}::uuid) AS runs,
  (SELECT json_agg(json_build_object('ordinal', n.ordinal, 'what', t.what)) FROM node_run n CROSS JOIN LATERAL (
    SELECT (e.body->>'branchId') || CASE e.type WHEN 'branch-started' THEN ' started' ELSE ' finished' END AS what
      FROM job_event e WHERE e.workspace_id = ${workspaceId}::uuid AND e.job_id = ${jobId}::uuid AND e.type IN ('branch-started', 'branch-finished')
       AND e.body->>'nodeRunId' = n.job_id || ':' || n.ordinal) t
    WHERE n.workspace_id = ${workspaceId}::uuid AND n.job_id = ${jobId}::uuid AND n.type = 'parallel' AND n.finished_at IS NULL) AS published,
  (SELECT json_agg(${request})
     FROM interrupt i WHERE i.workspace_id = ${workspaceId}::uuid AND i.job_id = ${jobId}::uuid AND i.request ? 'nodeRun') AS questions`;

/** Reads the stored state of a workflow job, as the API role inside its workspace. */
@Injectable()
export class NodeRunsRepository {
  constructor(
    private readonly prisma: PrismaService,
    private readonly shown: ShownTextsRepository,
  ) {}

  async load(job: JobRef): Promise<StoredRun> {
    const [row] = await this.prisma.queryInWorkspace<Row>(job, storedRun(job));
    return { nodeRuns: row?.runs ?? [], questions: row?.questions ?? [], published: row?.published ?? [] };
  }

  /** Reads the text that the log shows as content. */
  async contentOf(job: JobRef): Promise<ShownContent> {
    const { text, reasoning } = await this.shown.read(job);
    return { text: joined(text), reasoning: joined(reasoning) };
  }

  /** Reads which awaited requests and calls are settled. */
  async answersTo({ workspaceId, jobId }: JobRef, { requests, calls }: Awaited): Promise<Answers> {
    const at = calls.map((call) => call.split(':').map(Number));
    const [rounds, ordinals] = [at.map(([round]) => round), at.map(([, ordinal]) => ordinal)];
    const [row] = await this.prisma.queryInWorkspace<AnswersRow>(
      { workspaceId },
      Prisma.sql`SELECT (SELECT json_agg(${request}) FROM interrupt i
    WHERE i.workspace_id = ${workspaceId}::uuid AND i.job_id = ${jobId}::uuid AND i.id = ANY(${requests}::uuid[]) AND i.status <> 'open') AS requests,
  (SELECT json_agg(c.round || ':' || c.ordinal) FROM unnest(${rounds}::int[], ${ordinals}::int[]) AS a (round, ordinal)
    JOIN tool_call c ON c.workspace_id = ${workspaceId}::uuid AND c.job_id = ${jobId}::uuid AND c.round = a.round AND c.ordinal = a.ordinal
    WHERE c.status <> 'running') AS calls`,
    );
    const come = row?.requests ?? [];
    return {
      requests: come.map(({ id }) => id),
      calls: row?.calls ?? [],
      questions: come.flatMap(({ nodeRun, key, ...rest }) =>
        nodeRun === null || key === null ? [] : [{ ...rest, nodeRun, key }],
      ),
    };
  }
}

function joined(pieces: readonly { readonly text: string }[]): string {
  return pieces.map(({ text }) => text).join('');
}
