import { type CronInZone, slotsAfter, slotsWithin } from './slots.js';

/**
 * What happens to slots whose time passed while no worker ran: `skip` starts no job, `once` starts one for the last slot, `all` one for each
 * of the last 24 slots.
 */
export type MissedPolicy = 'skip' | 'once' | 'all';

/** A slot counts as missed if no worker planned it within this time, in ms. */
const missedAfterMs = 60_000;

/** Maximum number of slots per plan, however many were missed. */
const maxSlots = 24;

export interface SlotPlan {
  /** The slots that start a job now, in order. */
  readonly start: readonly number[];
  /** The slots that start no job. If more than 24 slots were missed, only the last ones. */
  readonly skip: readonly number[];
  /** The next slot; null: none. */
  readonly next: number | null;
}

/** Plans the slots of a schedule at `now`. `from` is the first slot that has not been planned. Pure. */
export function planSlots(
  rhythm: CronInZone,
  { from, now, missed }: { readonly from: number; readonly now: number; readonly missed: MissedPolicy },
): SlotPlan {
  const slots = slotsWithin(rhythm, { from, to: now }, maxSlots);
  const [next = null] = slotsAfter(rhythm, now, 1);
  const kept = Math.min(howMany(slots.at(-1), { now, missed }), slots.length);
  const first = slots.length - kept;
  return { start: slots.slice(first), skip: slots.slice(0, first), next };
}

function howMany(
  last: number | undefined,
  { now, missed }: { readonly now: number; readonly missed: MissedPolicy },
): number {
  if (last === undefined) return 0;
  switch (missed) {
    case 'skip':
      return now - last > missedAfterMs ? 0 : 1;
    case 'once':
      return 1;
    case 'all':
      return maxSlots;
  }
}
