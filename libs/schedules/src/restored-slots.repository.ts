import type { PrismaTransaction } from '#platform';

import { isCron } from './cron.js';
import { slotsAfter } from './slots.js';
import { isTimeZone } from './time-zone.js';

/**
 * Runs after a backup was restored, as the owner role. Slots between the backup and now may have started their jobs already, so they start no
 * job, even if the schedule starts missed slots. Schedules continue with their next slot.
 */
export async function skipRestoredSlots(tx: PrismaTransaction, now: number): Promise<void> {
  await tx.scheduledSlot.updateMany({ where: { status: 'due' }, data: { status: 'skipped', tryAt: null } });
  const due = await tx.schedule.findMany({
    where: { enabled: true, nextSlotAt: { lte: new Date(now) } },
    select: { workspaceId: true, id: true, cron: true, timeZone: true },
  });
  for (const { workspaceId, id, cron, timeZone } of due) {
    if (!isTimeZone(timeZone) || !isCron(cron)) continue; // the next sweep stops or reports it
    const [next] = slotsAfter({ cron, timeZone }, now, 1);
    const data = { nextSlotAt: next === undefined ? null : new Date(next), enabled: next !== undefined };
    await tx.schedule.update({ where: { workspaceId_id: { workspaceId, id } }, data, select: { id: true } });
  }
}
