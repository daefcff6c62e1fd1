import type { PrismaTransaction } from '#platform';

import { UNKNOWN_OUTCOME_TEXT } from './model-text.js';

/**
 * After a backup was restored, as the owner role: a `once` call that was about to run may have run since, so its outcome is unknown
 * and it is not started without a decision. `pure` and `idempotent` calls run again with the same key.
 */
export async function interruptRestoredCalls(tx: PrismaTransaction): Promise<void> {
  const job = { status: { in: ['queued', 'running', 'waiting'] } };
  const error = { phase: 'execution', message: UNKNOWN_OUTCOME_TEXT };
  await tx.toolCall.updateMany({
    where: { effect: 'once', executor: 'worker', status: { in: ['pending', 'running'] }, job },
    data: { status: 'interrupted', error, finishedAt: new Date() },
  });
  // An expired claim: the sweeper marks the call as interrupted, and a person decides.
  await tx.$executeRaw`
    UPDATE tool_call SET exec_epoch = exec_epoch + 1, exec_until = clock_timestamp() - interval '1 ms'
     WHERE executor = 'queue' AND status = 'running' AND effect = 'once'`;
}
