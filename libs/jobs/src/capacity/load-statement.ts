/** SQL that selects the jobs of workspace `$1` to count, and bounds how many of them are read. */
interface Bounded {
  /** A user's id; null: the jobs of the whole workspace. */
  readonly user: string | null;
  /** The count stops at this many jobs. */
  readonly limit: string;
}

/**
 * Counts the jobs that have not ended. Reads the index `job_unfinished` alone: a row of a job is visited only where its page has
 * changed since the last vacuum.
 */
export function countUnfinished({ user, limit }: Bounded): string {
  const own = user === null ? '' : ` AND j.created_by = ${user}`;
  return count(`j.status IN ('queued', 'running', 'waiting')${own}`, limit);
}

/** Counts the jobs that run or may run at once. The sum is exact below `limit`, and reaches it where the exact count does. */
export function countActive({ user, limit }: Bounded): string {
  const running = user === null ? '' : ` AND j.created_by = ${user}`;
  const queued = user === null ? '' : ` AND coalesce(j.created_by, j.workspace_id) = ${user}`; // as in the index job_next
  return `(${count(`j.status = 'running'${running}`, limit)} + ${count(`j.status = 'queued' AND NOT j.in_line${queued}`, limit)})`;
}

/** Like `countActive`, for the jobs of one agent of the workspace. */
export function countActiveOfAgent({ agent, limit }: { readonly agent: string; readonly limit: string }): string {
  const own = ` AND j.agent_id = ${agent}`;
  return `(${count(`j.status = 'running'${own}`, limit)} + ${count(`j.status = 'queued' AND NOT j.in_line${own}`, limit)})`;
}

function count(where: string, limit: string): string {
  return `(SELECT count(*)::int FROM (SELECT FROM job j WHERE j.workspace_id = $1 AND ${where} LIMIT ${limit}) AS counted)`;
}
