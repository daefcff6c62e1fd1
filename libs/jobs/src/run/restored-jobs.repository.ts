import type { PrismaTransaction } from '#platform';

/**
 * Added to every epoch: more than a job can have been claimed after the backup. So a worker that claimed the job after the backup has a
 * smaller epoch and is fenced.
 */
const EPOCHS = 1_000_000;

/**
 * Runs after a restore, as the owner role: voids all leases and removes all viewers of the backup. Unfinished jobs continue after
 * their last committed round as soon as a worker runs.
 */
export async function voidRestoredLeases(tx: PrismaTransaction): Promise<void> {
  await tx.$executeRaw`
    UPDATE job SET lease_epoch = lease_epoch + ${EPOCHS}::int, lease_owner = NULL,
           lease_until = CASE WHEN status = 'running' THEN clock_timestamp() - interval '1 ms' END
     WHERE status IN ('queued', 'running', 'waiting')`;
  await tx.jobViewer.deleteMany();
}
