import type { SqlClient } from '#platform';

import { slotsAfter } from './slots.js';
import { isTimeZone } from './time-zone.js';

interface DueSchedule {
  readonly workspaceId: string;
  readonly id: string;
  readonly cron: string;
  readonly timeZone: string;
}

const dueSql = `SELECT workspace_id AS "workspaceId", id, cron, time_zone AS "timeZone" FROM workflow_schedule
 WHERE enabled AND next_slot_at <= clock_timestamp()`;

const advanceSql = `UPDATE workflow_schedule SET next_slot_at = to_timestamp($3::float8 / 1000), enabled = $3 IS NOT NULL
 WHERE workspace_id = $1 AND id = $2`;

/**
 * After a backup was restored, as the migrating login: slots between the backup and now may have started their jobs already, so none of
 * them starts one, also where the schedule starts missed slots. Schedules continue with their next slot.
 */
export async function skipRestoredSlots(client: Pick<SqlClient, 'query'>, now: number): Promise<void> {
  await client.query(`UPDATE scheduled_slot SET status = 'skipped', try_at = NULL WHERE status = 'due'`);
  const { rows } = await client.query<DueSchedule>(dueSql);
  for (const { workspaceId, id, cron, timeZone } of rows) {
    if (!isTimeZone(timeZone)) continue; // the next look stops it
    const [next = null] = slotsAfter({ cron, timeZone }, now, 1);
    await client.query(advanceSql, [workspaceId, id, next]);
  }
}
