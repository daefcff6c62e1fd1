import { InterruptsService } from '#approvals';
import { type Interrupt, interruptKinds } from '#jobs';
import { newId } from '#platform';
import type { Workflow } from '#workflows';

import { eventually } from '../harness/eventually.js';
import { everyEvent } from '../harness/every-event.js';
import { publish, sketch, type SketchedNode, startWorkflow } from '../harness/workflows.js';
import type { Stage } from './stage.js';
import type { Viewer } from './viewer.js';

/** A workflow of a test. */
export interface Story {
  readonly nodes: Readonly<Record<string, SketchedNode>>;
  readonly edges: readonly string[];
  readonly prompt?: string;
  /** Its id, where another one has it as a subflow. */
  readonly id?: string;
}

/** What a workflow job left, as far as it is the same each time. */
export interface Left {
  readonly status: string;
  readonly content: string;
  readonly runs: readonly object[];
  readonly calls: readonly object[];
  readonly requests: readonly object[];
  readonly rounds: readonly object[];
  readonly memories: readonly object[];
  /** By node run: the number of its end events. */
  readonly ends: Readonly<Record<string, number>>;
}

export const output = { type: 'output', format: 'text' };

const runsSql = `SELECT node_id AS node, iteration, path, type, status, input, output, handles, hand_on, extra, error,
    prompt_tokens + completion_tokens AS tokens FROM node_run WHERE job_id = $1 ORDER BY node_id, iteration`;
const callsSql = `SELECT c.name, c.status, c.result, n.node_id AS node FROM tool_call c
    JOIN round r ON r.job_id = c.job_id AND r.number = c.round LEFT JOIN node_run n ON n.job_id = r.job_id AND n.ordinal = r.node_run
   WHERE c.job_id = $1 ORDER BY n.node_id, n.iteration, c.round, c.ordinal`;
const requestsSql = `SELECT node_id AS node, kind, status, outcome->>'outcome' AS outcome FROM interrupt WHERE job_id = $1
   ORDER BY node_id, kind, id`;
const roundsSql = `SELECT n.node_id AS node, n.iteration, r.branch, r.text, r.partial FROM round r
    LEFT JOIN node_run n ON n.job_id = r.job_id AND n.ordinal = r.node_run
   WHERE r.job_id = $1 ORDER BY n.node_id, n.iteration, r.branch, r.number`;
const memoriesSql = `SELECT text, metadata->>'nodeId' AS node FROM workflow_memory WHERE starts_with(node_run_key, $1::text) ORDER BY node`;
const endsSql = `SELECT n.node_id || '@' || coalesce(array_to_string(n.iteration, '.'), '') AS run, count(e.seq)::int AS n FROM node_run n
    LEFT JOIN ${everyEvent} e ON e.job_id = n.job_id AND e.type = 'node-finished' AND e.body->>'nodeRunId' = n.job_id || ':' || n.ordinal
   WHERE n.job_id = $1 GROUP BY 1`;

/** Publishes it; each time it is a workflow of its own. */
export function publishStory(stage: Stage, { nodes, edges, id }: Omit<Story, 'prompt'>): Promise<Workflow> {
  const meta = { name: `story ${newId()}`, ...(id === undefined ? {} : { id }) };
  return publish(stage.engine, stage.owner, sketch(nodes, edges, meta));
}

/** Publishes and starts it. Gives the id of its job. */
export async function start(stage: Stage, { prompt = 'Hello', ...story }: Story): Promise<string> {
  const workflow = await publishStory(stage, story);
  return startWorkflow(stage.engine, stage.owner, { workflow, prompt });
}

/** Starts it, and watches it from its first event on. */
export async function runStory(stage: Stage, story: Story): Promise<Viewer> {
  return stage.watch(await start(stage, story));
}

/** What is left of a job, once it has ended. */
export async function leftOf(stage: Stage, { jobId, ended }: Viewer): Promise<Left> {
  await ended;
  return leftBy(stage, jobId);
}

/** What is left of a job that has ended. */
export async function leftBy(stage: Stage, jobId: string): Promise<Left> {
  const rowsOf = async <Row extends object>(sql: string) =>
    (await stage.database.postgres.workerPool.query<Row>(sql, [jobId])).rows;
  const { status, content } = await stage.snapshot(jobId);
  const ends = await rowsOf<{ run: string; n: number }>(endsSql);
  return {
    ...{ status, content },
    runs: await rowsOf(runsSql),
    calls: await rowsOf(callsSql),
    requests: await rowsOf(requestsSql),
    rounds: await rowsOf(roundsSql),
    memories: await rowsOf(memoriesSql),
    ends: Object.fromEntries(ends.map(({ run, n }) => [run, n])),
  };
}

/** What is asked about this node, once it is. */
export function askedAt(stage: Stage, { jobId }: Viewer, nodeId: string): Promise<Interrupt> {
  return eventually(`a person is asked about ${nodeId}`, async () => {
    const open = await stage.engine.app
      .get(InterruptsService)
      .list(stage.owner, { jobId, statuses: ['open'], kinds: interruptKinds }, { limit: 100 });
    return open.find((one) => one.nodeId === nodeId);
  });
}

/** Resolves once these node runs have ended, as everybody can see: `<node>`, or `<node>@<pass>` inside of loops and maps. */
export async function hasEnded(viewer: Viewer, ...names: readonly string[]): Promise<void> {
  await eventually(`${names.join()} have ended`, () => {
    const ended = viewer.events.flatMap(({ type, body }) =>
      type === 'node-finished' ? [body.iteration === undefined ? body.nodeId : `${body.nodeId}@${body.iteration}`] : [],
    );
    return names.every((name) => ended.includes(name)) ? true : undefined;
  });
}
