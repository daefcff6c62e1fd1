import type { Config } from '#platform';

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

/** Serializes counts: two processes that count the running jobs of a workspace at once would both fill its last slot. Nothing else uses this key. */
const lockKey = (workspaceId: string) => `hashtextextended('running jobs of ' || ${workspaceId}, 0)`;

/** A setting of the transaction: the workspaces whose number of running jobs it may raise, separated by commas. */
const countable = 'app.countable';

/** Takes those locks of `workspaceIds`, a SQL expression of texts, that are free; never waits. Returns the ids that it locked. */
export function lockCounts(workspaceIds: string): string {
  return `SELECT set_config('${countable}', coalesce(string_agg(l.id, ','), ''), true) AS locked
  FROM (SELECT DISTINCT w.id FROM (${workspaceIds}) AS w(id)) AS l WHERE pg_try_advisory_xact_lock(${lockKey('l.id')})`;
}

/** Whether this transaction has the lock of the workspace's count. */
export function isCountable(workspaceId: string): string {
  return `${workspaceId}::text = ANY(string_to_array(current_setting('${countable}', true), ','))`;
}

/** SQL for the owner of the cap that a job counts against: its user, or the workspace for a job without a user. */
export const holderOf = (job: string) => `coalesce(${job}.created_by, ${job}.workspace_id)`;

/**
 * Which of the queued jobs in `asked` (workspace_id, id, holder, created_at) may run without exceeding a cap, as the clause `room`
 * (workspace_id, id). A user with fewer running jobs comes first, then the older job. `ceilings`: two parameters of the statement, for
 * the workspace and for the user.
 */
export function roomClauses(ceilings: { readonly workspace: string; readonly user: string }): string {
  return `running AS (
  SELECT j.workspace_id, ${holderOf('j')} AS holder, count(*) AS jobs FROM job j
   WHERE j.status = 'running' AND j.workspace_id IN (SELECT workspace_id FROM asked) GROUP BY 1, 2),
turns AS (
  SELECT a.*, coalesce(r.jobs, 0) + row_number() OVER (PARTITION BY a.workspace_id, a.holder ORDER BY a.created_at, a.id) AS turn
    FROM asked a LEFT JOIN running r ON r.workspace_id = a.workspace_id AND r.holder = a.holder),
places AS (
  SELECT t.workspace_id, t.id, least(s.max_jobs, ${ceilings.workspace}) AS cap, row_number() OVER (
           PARTITION BY t.workspace_id ORDER BY t.turn, t.created_at, t.id)
         + coalesce((SELECT sum(r.jobs) FROM running r WHERE r.workspace_id = t.workspace_id), 0) AS place
    FROM turns t JOIN workspace s ON s.id = t.workspace_id
   WHERE t.holder = t.workspace_id OR t.turn <= least(s.max_jobs_per_user, ${ceilings.user})),
room AS (SELECT workspace_id, id, place FROM places WHERE place <= cap)`;
}

/** Every workspace that has queued jobs. */
export const waitingWorkspaces = `SELECT DISTINCT j.workspace_id FROM job j WHERE j.status = 'queued' AND NOT j.in_line`;

/** What `nextClauses` looks for, each a piece of SQL. */
interface NextJobs {
  readonly workspaces: string;
  readonly minAgeMs: string;
  readonly format: string;
  readonly ceilings: { readonly workspace: string; readonly user: string };
}

/**
 * The jobs that are next in some workspaces, as the clauses `next` (with the kind) and `room`: of each user with queued jobs the oldest,
 * as many as fit under the user's cap. The users are found one by one in the index `job_queued`: the length of a queue costs nothing.
 */
export function nextClauses({ workspaces, minAgeMs, format, ceilings }: NextJobs): string {
  const queued = `j.status = 'queued' AND NOT j.in_line`;
  return `WITH RECURSIVE waiting AS (${workspaces}),
holders AS (
  SELECT w.workspace_id, f.holder FROM waiting w, LATERAL (
    SELECT ${holderOf('j')} AS holder FROM job j WHERE j.workspace_id = w.workspace_id AND ${queued}
     ORDER BY ${holderOf('j')} LIMIT 1) AS f
  UNION ALL
  SELECT h.workspace_id, f.holder FROM holders h, LATERAL (
    SELECT ${holderOf('j')} AS holder FROM job j WHERE j.workspace_id = h.workspace_id AND ${queued} AND ${holderOf('j')} > h.holder
     ORDER BY ${holderOf('j')} LIMIT 1) AS f),
next AS (
  SELECT h.workspace_id, h.holder, f.id, f.kind, f.created_at
    FROM holders h JOIN workspace s ON s.id = h.workspace_id, LATERAL (
      SELECT j.id, j.kind, j.created_at FROM job j
       WHERE j.workspace_id = h.workspace_id AND ${holderOf('j')} = h.holder AND ${queued} AND j.format <= ${format}
         AND j.created_at < clock_timestamp() - ${minAgeMs}::int * interval '1 ms'
       ORDER BY j.created_at, j.id LIMIT CASE WHEN h.holder = h.workspace_id THEN least(s.max_jobs, ${ceilings.workspace})
         ELSE least(s.max_jobs_per_user, ${ceilings.user}) END) AS f),
asked AS (SELECT workspace_id, id, holder, created_at FROM next),
${roomClauses(ceilings)}`;
}
