import { Cron } from 'croner';

/** A valid cron expression (`assertCron`), and the time zone that it applies to (`isTimeZone`). */
export interface CronInZone {
  readonly cron: string;
  readonly timeZone: string;
}

/**
 * The first `count` slots after an instant, in order; fewer if no more slots exist. If clocks are set back, a schedule with fixed minutes and
 * hours has a slot at the first occurrence of a repeated time only; a schedule with `*` or a step in either field has slots at both. If
 * clocks are set forward, the skipped times of a fixed schedule share one slot right after the gap, and those of the other schedules have no
 * slot (as in Vixie cron). Pure.
 */
export function slotsAfter(rhythm: CronInZone, after: number, count: number): readonly number[] {
  return toCron(rhythm)
    .nextRuns(count, new Date(after))
    .map((slot) => slot.getTime());
}

/** The last `count` slots from `from` to `to`, both included, in order. Pure. */
export function slotsWithin(
  rhythm: CronInZone,
  { from, to }: { readonly from: number; readonly to: number },
  count: number,
): readonly number[] {
  const cron = toCron(rhythm);
  const found: number[] = [];
  // The loop steps back one slot at a time: usually there is one slot, and 24 steps take 2 ms.
  for (let before = to + 1; found.length < count; before = found.at(-1) ?? from) {
    const slot = cron.previousRuns(1, new Date(before))[0]?.getTime();
    if (slot === undefined || slot < from) break;
    found.push(slot);
  }
  return found.toReversed();
}

/** crontab(5): both day fields must match when one of them begins with `*`; otherwise either is enough. */
function toCron({ cron, timeZone }: CronInZone): Cron {
  const [, , day = '', , weekday = ''] = cron.trim().split(/\s+/);
  const domAndDow = day.startsWith('*') || weekday.startsWith('*');
  return new Cron(cron, { mode: '5-part', timezone: timeZone, fixedTimeRule: 'no-wildcard', domAndDow });
}
