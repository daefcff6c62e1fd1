import type { PrismaTransaction } from '#platform';

import { UNKNOWN_OUTCOME_TEXT } from './model-text.js';

/**
 * Runs after a backup was restored, as the owner role. A `once` call that was about to run may have run since the backup, so its outcome is
 * unknown and only a decision may start it again. `pure` and `idempotent` calls run again with the same key.
 */
export async function interruptRestoredCalls(tx: PrismaTransaction): Promise<void> {
  const job = { status: { in: ['queued', 'running', 'waiting'] } };
  const error = { phase: 'execution', message: UNKNOWN_OUTCOME_TEXT };
  await tx.toolCall.updateMany({
    where: { effect: 'once', executor: 'worker', status: { in: ['pending', 'running'] }, job },
    data: { status: 'interrupted', error, finishedAt: new Date() },
  });
  // The claim is set to expired: the sweeper then marks the call as interrupted, and a person decides.
  await tx.$executeRaw`
    UPDATE tool_call SET exec_epoch = exec_epoch + 1, exec_until = clock_timestamp() - interval '1 ms'
     WHERE executor = 'queue' AND status = 'running' AND effect = 'once'`;
}
