import type { Config } from '#platform';

import { isDue } from '../job.js';

/** A limit of the installation for a workspace, and one for each of its users. */
export interface InstallationLimits {
  readonly workspace: number;
  readonly user: number;
}

/** The operator's ceilings above the caps that a workspace sets for its running jobs. */
export function ceilingsOf({ values }: Config): InstallationLimits {
  return { workspace: values.RUNNING_JOBS_CEILING, user: values.RUNNING_JOBS_PER_USER_CEILING };
}

/** The installation's limits of stored jobs that have not ended. */
export function storedLimitsOf({ values }: Config): InstallationLimits {
  return { workspace: values.MAX_UNFINISHED_JOBS, user: values.MAX_UNFINISHED_JOBS_PER_USER };
}

/**
 * Serializes counts: two processes that count the running jobs of a workspace at the same time would both fill its last slot. Nothing else
 * uses this key.
 */
const lockKey = (workspaceId: string) => `hashtextextended('running jobs of ' || ${workspaceId}, 0)`;

/** A setting of the transaction: the workspaces whose number of running jobs it may raise, separated by commas. */
const countable = 'app.countable';

/**
 * Acquires the locks that are free, and never waits. `workspaceIds`: SQL for a list of ids as text. Returns the ids of the locked workspaces.
 */
export function lockCounts(workspaceIds: string): string {
  return `SELECT set_config('${countable}', coalesce(string_agg(l.id, ','), ''), true) AS locked
  FROM (SELECT DISTINCT w.id FROM (${workspaceIds}) AS w(id)) AS l WHERE pg_try_advisory_xact_lock(${lockKey('l.id')})`;
}

/** SQL condition: this transaction has the lock of the workspace's count. */
export function isCountable(workspaceId: string): string {
  return `${workspaceId}::text = ANY(string_to_array(current_setting('${countable}', true), ','))`;
}

/** SQL for the owner of the cap that a job counts against: its user, or the workspace for a job without a user. */
export const holderOf = (job: string) => `coalesce(${job}.created_by, ${job}.workspace_id)`;

/** SQL for the agent of a job, or the workspace for a job without an agent, as in the index `job_next`. */
const agentOf = (job: string) => `coalesce(${job}.agent_id, ${job}.workspace_id)`;

/** The operator's ceilings, as two parameters of the statement. */
export interface CeilingParameters {
  readonly workspace: string;
  readonly user: string;
}

/**
 * Selects the queued jobs in `asked` (workspace_id, id, holder, agent_id, created_at) that may run without exceeding a cap, as the clause
 * `room` (workspace_id, id). A job of a user with fewer running jobs comes first, then the older job. Jobs over the cap of their agent are
 * removed before the jobs of a user are ranked, so that they do not delay jobs of other agents. Jobs of a user at their cap are removed
 * before the slots of an agent are assigned.
 */
export function capacityClauses(ceilings: CeilingParameters): string {
  return `running AS (
  SELECT j.workspace_id, ${holderOf('j')} AS holder, j.agent_id, count(*) AS jobs FROM job j
   WHERE j.status = 'running' AND j.workspace_id IN (SELECT workspace_id FROM asked) GROUP BY 1, 2, 3),
holding AS (SELECT r.workspace_id, r.holder, sum(r.jobs) AS jobs FROM running r GROUP BY 1, 2),
capped AS (
  SELECT c.workspace_id, c.id, c.max_running_jobs - coalesce((
           SELECT sum(r.jobs) FROM running r WHERE r.workspace_id = c.workspace_id AND r.agent_id = c.id), 0) AS free
    FROM agent c
   WHERE c.max_running_jobs IS NOT NULL
     AND (c.workspace_id, c.id) IN (SELECT a.workspace_id, a.agent_id FROM asked a WHERE a.agent_id IS NOT NULL)),
open AS (
  SELECT a.*, c.free, least(s.max_jobs, ${ceilings.workspace}) AS cap,
         CASE WHEN a.holder <> a.workspace_id THEN least(s.max_jobs_per_user, ${ceilings.user}) END AS user_cap, coalesce(h.jobs, 0) AS jobs
    FROM asked a JOIN workspace s ON s.id = a.workspace_id
    LEFT JOIN holding h ON h.workspace_id = a.workspace_id AND h.holder = a.holder
    LEFT JOIN capped c ON c.workspace_id = a.workspace_id AND c.id = a.agent_id
   WHERE c.free IS NULL OR c.free > 0),
ranked AS (
  SELECT o.*, o.jobs + row_number() OVER (PARTITION BY o.workspace_id, o.holder ORDER BY o.created_at, o.id) AS rank
    FROM open o WHERE o.user_cap IS NULL OR o.jobs < o.user_cap),
fitting AS (
  SELECT r.*, row_number() OVER (PARTITION BY r.workspace_id, r.agent_id ORDER BY r.rank, r.created_at, r.id) AS number
    FROM ranked r),
turns AS (
  SELECT f.*, f.jobs + row_number() OVER (PARTITION BY f.workspace_id, f.holder ORDER BY f.created_at, f.id) AS turn
    FROM fitting f WHERE f.free IS NULL OR f.number <= f.free),
places AS (
  SELECT t.workspace_id, t.id, t.cap, row_number() OVER (PARTITION BY t.workspace_id ORDER BY t.turn, t.created_at, t.id)
         + coalesce((SELECT sum(h.jobs) FROM holding h WHERE h.workspace_id = t.workspace_id), 0) AS place
    FROM turns t WHERE t.user_cap IS NULL OR t.turn <= t.user_cap),
room AS (SELECT workspace_id, id, place FROM places WHERE place <= cap)`;
}

/** SQL for every workspace that has queued jobs. */
export const waitingWorkspaces = `SELECT DISTINCT j.workspace_id FROM job j WHERE j.status = 'queued' AND NOT j.in_line`;

/** The parameters of the search, each as SQL. */
interface NextJobs {
  readonly workspaces: string;
  readonly minAgeMs: string;
  readonly format: string;
  readonly ceilings: CeilingParameters;
}

/**
 * Selects the next jobs of some workspaces, as the clauses `next` (with the kind) and `room`: the oldest jobs of each user and agent with
 * queued jobs, as many as fit under both caps. These pairs are found one by one in the index `job_next`, so the length of a queue costs
 * nothing. ORDER BY also names the columns that are equal in a pair: without them, Postgres sorts the whole queue of the pair.
 */
export function nextClauses({ workspaces, minAgeMs, format, ceilings }: NextJobs): string {
  const queued = `j.status = 'queued' AND NOT j.in_line`;
  const pair = `SELECT ${holderOf('j')} AS holder, ${agentOf('j')} AS agent FROM job j`;
  const first = `ORDER BY ${holderOf('j')}, ${agentOf('j')} LIMIT 1`;
  return `WITH RECURSIVE waiting AS (${workspaces}),
pairs AS (
  SELECT w.workspace_id, f.holder, f.agent FROM waiting w, LATERAL (
    ${pair} WHERE j.workspace_id = w.workspace_id AND ${queued} ${first}) AS f
  UNION ALL
  SELECT p.workspace_id, f.holder, f.agent FROM pairs p, LATERAL (
    ${pair} WHERE j.workspace_id = p.workspace_id AND ${queued} AND (${holderOf('j')}, ${agentOf('j')}) > (p.holder, p.agent)
     ${first}) AS f),
next AS (
  SELECT p.workspace_id, p.holder, f.agent_id, f.id, f.kind, f.created_at
    FROM pairs p JOIN workspace s ON s.id = p.workspace_id
    LEFT JOIN agent c ON c.workspace_id = p.workspace_id AND c.id = p.agent, LATERAL (
      SELECT j.id, j.kind, j.agent_id, j.created_at FROM job j
       WHERE j.workspace_id = p.workspace_id AND ${holderOf('j')} = p.holder AND ${agentOf('j')} = p.agent AND ${queued}
         AND j.format <= ${format} AND j.created_at < clock_timestamp() - ${minAgeMs}::int * interval '1 ms' AND ${isDue('j')}
       ORDER BY ${holderOf('j')}, ${agentOf('j')}, j.created_at, j.id
       LIMIT least(c.max_running_jobs, CASE WHEN p.holder = p.workspace_id THEN least(s.max_jobs, ${ceilings.workspace})
         ELSE least(s.max_jobs_per_user, ${ceilings.user}) END)) AS f),
asked AS (SELECT workspace_id, id, holder, agent_id, created_at FROM next),
${capacityClauses(ceilings)}`;
}
