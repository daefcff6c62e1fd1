import type { SqlClient } from '#platform';

import { UNKNOWN_OUTCOME_TEXT } from './model-text.js';

const interruptSql = `UPDATE tool_call t SET status = 'interrupted', error = $1, finished_at = clock_timestamp()
  FROM job j WHERE j.workspace_id = t.workspace_id AND j.id = t.job_id AND j.status IN ('queued', 'running', 'waiting')
   AND t.effect = 'once' AND t.executor = 'worker' AND t.status IN ('pending', 'running')`;

/** Sets the call to an expired claim: the sweeper marks it as interrupted, and a person decides. */
const queueSql = `UPDATE tool_call SET exec_epoch = exec_epoch + 1, exec_until = clock_timestamp() - interval '1 ms'
 WHERE executor = 'queue' AND status = 'running' AND effect = 'once'`;

/**
 * After a backup was restored, as the migrating login: a `once` call that was about to run may have run since, so its outcome is unknown
 * and it is not started without a decision. `pure` and `idempotent` calls run again with the same key.
 */
export async function interruptRestoredCalls(client: Pick<SqlClient, 'query'>): Promise<void> {
  await client.query(interruptSql, [JSON.stringify({ phase: 'execution', message: UNKNOWN_OUTCOME_TEXT })]);
  await client.query(queueSql);
}
