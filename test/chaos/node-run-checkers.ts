import type { TestDatabase } from '../harness/database.js';
import { everyEvent } from '../harness/every-event.js';
import { type Check, rows } from './check.js';

/** A node run, its events and its rounds. */
interface Run {
  readonly jobId: string;
  readonly ordinal: number;
  readonly nodeId: string;
  readonly path: readonly string[];
  readonly iteration: readonly number[];
  readonly type: string;
  readonly status: string;
  readonly isReused: boolean;
  readonly hasOutput: boolean;
  readonly tokens: number;
  /** Of its rounds. */
  readonly used: number;
  /** Numbers of its start events. */
  readonly started: readonly number[];
  readonly finished: readonly number[];
  /** The statuses in the end events of the node run. */
  readonly reported: readonly string[];
  /** When the last of its rounds was begun. */
  readonly lastRound: number | null;
}

const runsSql = `SELECT n.job_id AS "jobId", n.ordinal, n.node_id AS "nodeId", coalesce(n.path, '{}') AS path, coalesce(n.iteration, '{}') AS iteration, n.type, n.status,
    coalesce((n.extra->>'isReused')::boolean, false) AS "isReused", n.output IS NOT NULL AS "hasOutput",
    n.prompt_tokens + n.completion_tokens AS tokens, r.used, r.last AS "lastRound", e.*
  FROM node_run n,
    LATERAL (SELECT coalesce(array_agg(seq ORDER BY seq) FILTER (WHERE type = 'node-started'), '{}') AS started,
        coalesce(array_agg(seq ORDER BY seq) FILTER (WHERE type = 'node-finished'), '{}') AS finished,
        coalesce(array_agg(body->>'status' ORDER BY seq) FILTER (WHERE type = 'node-finished'), '{}') AS reported
       FROM ${everyEvent} x WHERE workspace_id = n.workspace_id AND job_id = n.job_id AND type IN ('node-started', 'node-finished')
        AND body->>'nodeRunId' = n.job_id || ':' || n.ordinal) e,
    LATERAL (SELECT coalesce(sum(r.prompt_tokens + r.completion_tokens), 0)::int AS used, max(b.seq) AS last
       FROM round r LEFT JOIN LATERAL (SELECT max(seq) AS seq FROM job_event WHERE workspace_id = r.workspace_id
         AND job_id = r.job_id AND type = 'round-started' AND (body->>'round')::int = r.number) b ON true
      WHERE r.workspace_id = n.workspace_id AND r.job_id = n.job_id AND r.node_run = n.ordinal) r
 ORDER BY n.job_id, n.ordinal`;

const final: ReadonlySet<string> = new Set(['completed', 'error', 'skipped', 'cancelled']);
const isFinal = ({ status }: Run): boolean => final.has(status);
/** A node that is skipped or reused from another job never starts. */
const begins = ({ status, isReused }: Run): boolean => status !== 'skipped' && !isReused;

/**
 * The node runs of a job are numbered 1, 2, 3 …, each once for its node and pass, and end with it; each has one start event, before
 * its one end event, which has the stored status; none of its rounds began later, and its usage is the sum of theirs.
 */
export const checkNodeRuns: Check = async (database) => {
  const byJob = Map.groupBy(await rows<Run>(database, runsSql), ({ jobId }) => jobId);
  const jobs = await jobsOf(database);
  return jobs.flatMap((job) => {
    const runs = byJob.get(job.id) ?? [];
    const problems = [
      ...(job.isAtRest ? checkNumbers(runs) : []),
      ...(job.isOver && runs.length === 0 && job.status === 'completed' ? ['ran no node'] : []),
      ...runs.flatMap((run) => checkRun(run, job).map((problem) => `${nameOf(run)} ${problem}`)),
      ...checkWaves(runs, job.edges),
      ...checkContainers(runs),
    ];
    return problems.map((problem) => `nodes: job ${job.id}: ${problem}`);
  });
};

function nameOf({ nodeId, iteration }: Run): string {
  return iteration.length === 0 ? nodeId : `${nodeId}@${iteration.join('.')}`;
}

function checkNumbers(runs: readonly Run[]): string[] {
  const ordinals = runs.map(({ ordinal }) => ordinal);
  const names = runs.map(nameOf);
  return [
    ...(ordinals.every((ordinal, i) => ordinal === i + 1) ? [] : [`numbers its node runs ${ordinals.join()}`]),
    ...names.filter((name, i) => names.indexOf(name) !== i).map((name) => `ran ${name} twice`),
  ];
}

function checkRun(run: Run, { isOver }: Job): string[] {
  const { status, isReused, started, finished, reported, lastRound } = run;
  const [end] = finished;
  return [
    ...(isOver && !isFinal(run) ? [`is ${status} and its job is over`] : []),
    ...(status === 'completed' && !run.hasOutput ? ['is completed and gave nothing'] : []),
    ...(started.length === (begins(run) ? 1 : 0) ? [] : [`has ${started.length} start events`]),
    ...(finished.length === (isFinal(run) && !isReused ? 1 : 0) ? [] : [`has ${finished.length} end events`]),
    ...reported.filter((one) => one !== status).map((one) => `was reported as ${one} and is ${status}`),
    ...((started.at(-1) ?? 0) < (end ?? Infinity) ? [] : ['was started after its end']),
    ...((lastRound ?? 0) < (end ?? Infinity) ? [] : ['asked a model after its end']),
    ...(isFinal(run) && run.tokens !== run.used ? [`counts ${run.tokens} tokens and has used ${run.used}`] : []),
  ];
}

/** What begins, begins after all its parents have ended. */
function checkWaves(runs: readonly Run[], edges: readonly Edge[]): string[] {
  const byName = new Map(runs.map((run) => [JSON.stringify([run.nodeId, run.path, run.iteration]), run]));
  return runs.filter(begins).flatMap((run) =>
    edges
      .filter(({ target }) => target === run.nodeId)
      .flatMap(({ source }) => byName.get(JSON.stringify([source, run.path, run.iteration])) ?? [])
      .filter((parent) => !parent.isReused && !isBefore(parent.finished, run.started))
      .map((parent) => `${nameOf(run)} began before ${nameOf(parent)} had ended`),
  );
}

/** What runs inside of another node begins after that and ends before it does, and before the next pass of a loop begins. */
function checkContainers(runs: readonly Run[]): string[] {
  const byName = new Map(runs.map((run) => [nameOf(run), run]));
  return runs.flatMap((run) => {
    const { path, iteration } = run;
    const owner = path.at(-1);
    if (owner === undefined) return [];
    const around = [iteration, iteration.slice(0, -1)].map((numbers) =>
      nameOf({ ...run, nodeId: owner, iteration: numbers }),
    );
    const container = byName.get(around.find((name) => byName.has(name)) ?? '');
    if (container === undefined) return [`${nameOf(run)} ran inside of ${owner}, which did not run`];
    const isLate = container.status === 'completed' && !isBefore(run.finished, container.finished);
    return [
      ...(begins(run) && !isBefore(container.started, run.started) ? [`${nameOf(run)} began before ${owner}`] : []),
      ...(isLate ? [`${nameOf(run)} ended after ${owner}`] : []),
      ...(container.type === 'whileLoop' ? checkPasses(run, runs) : []),
    ];
  });
}

function checkPasses(run: Run, runs: readonly Run[]): string[] {
  const pass = run.iteration.at(-1) ?? 0;
  const isNext = ({ path, iteration }: Run) =>
    path.join() === run.path.join() &&
    iteration.slice(0, -1).join() === run.iteration.slice(0, -1).join() &&
    iteration.at(-1) === pass + 1;
  const early = runs.filter((next) => isNext(next) && begins(next) && !isBefore(run.finished, next.started));
  return early.map((next) => `${nameOf(next)} began before ${nameOf(run)} had ended`);
}

function isBefore(ends: readonly number[], begins: readonly number[]): boolean {
  return (ends.at(-1) ?? Infinity) < (begins[0] ?? Infinity);
}

interface Edge {
  /** As reported. */
  readonly source: string;
  readonly target: string;
}

interface Job {
  readonly id: string;
  readonly status: string;
  readonly isOver: boolean;
  /** Everything about the job is stored, and nothing is only in the memory of a worker. */
  readonly isAtRest: boolean;
  /** Those of its subflows too. */
  readonly edges: readonly Edge[];
}

interface Pin {
  readonly id: string;
  readonly version: number;
}

interface Definition {
  readonly nodes: readonly {
    readonly id: string;
    readonly data: { readonly subflowId?: string };
  }[];
  readonly edges: readonly Edge[];
}

interface JobRow extends Omit<Job, 'edges'> {
  readonly workspaceId: string;
  readonly pin: Pin;
  readonly subflows: Readonly<Record<string, Pin>>;
}

async function jobsOf(database: TestDatabase): Promise<Job[]> {
  const jobs = await rows<JobRow>(
    database,
    `SELECT id, workspace_id AS "workspaceId", status, finished_at IS NOT NULL AS "isOver",
       finished_at IS NOT NULL OR status = 'waiting' AS "isAtRest",
       json_build_object('id', workflow_id, 'version', workflow_version) AS pin, input->'subflows' AS subflows
       FROM job WHERE kind = 'workflow'`,
  );
  const workspaces = new Set(jobs.map(({ workspaceId }) => workspaceId));
  const definitions = new Map(
    (await Promise.all([...workspaces].map((workspaceId) => definitionsOf(database, workspaceId)))).flat(),
  );
  return jobs.map(({ pin, subflows, ...job }) => {
    const edgesOf = (of: Pin, prefix: string): readonly Edge[] => {
      const definition = definitions.get(keyOf(of));
      if (definition === undefined) throw new Error(`the definition of job ${job.id} is not there`);
      const inside = definition.nodes.flatMap(({ id, data }) => {
        const inner = data.subflowId === undefined ? undefined : subflows[data.subflowId];
        return inner === undefined ? [] : edgesOf(inner, `${prefix}sf:${id}|`);
      });
      const own = definition.edges.map(({ source, target }) => ({ source: prefix + source, target: prefix + target }));
      return [...own, ...inside];
    };
    return { ...job, edges: edgesOf(pin, '') };
  });
}

/** Of all versions, by their keys. */
async function definitionsOf({ postgres }: TestDatabase, workspaceId: string): Promise<[string, Definition][]> {
  const { rows: versions } = await postgres.withWorkspaceSql(workspaceId, (client) =>
    client.query<Pin & { readonly definition: string }>(
      'SELECT workflow_id AS id, number AS version, definition FROM workflow_version',
    ),
  );
  return versions.map((one) => [keyOf(one), JSON.parse(one.definition) as Definition]); // it was validated
}

function keyOf({ id, version }: Pin): string {
  return `${id} ${version}`;
}
