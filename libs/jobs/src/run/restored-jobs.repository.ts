import type { SqlClient } from '#platform';

/**
 * More than any job is claimed in the life of a backup: a worker of the time after the backup, which claimed the same job some more
 * times, has a smaller epoch and is fenced.
 */
const EPOCHS = 1_000_000;

const leasesSql = `UPDATE job SET lease_epoch = lease_epoch + ${EPOCHS}, lease_owner = NULL,
       lease_until = CASE WHEN status = 'running' THEN clock_timestamp() - interval '1 ms' END
 WHERE status IN ('queued', 'running', 'waiting')`;

/**
 * After a backup was restored, as the migrating login: no lease of before holds, and no viewer of before is connected. Unfinished jobs
 * continue after their last committed round as soon as a worker runs.
 */
export async function voidRestoredLeases(client: Pick<SqlClient, 'query'>): Promise<void> {
  await client.query(leasesSql);
  await client.query('DELETE FROM job_viewer');
}
