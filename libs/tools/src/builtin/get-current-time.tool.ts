import { z } from 'zod';

import { defineTool } from '../define-tool.js';

/** Returns the time in a zone of the IANA database, as ISO 8601 with the offset of the zone at that instant. */
export const getCurrentTime = defineTool({
  name: 'get_current_time',
  description: 'Returns the current date and time as ISO 8601 with offset. Give an IANA time zone, else UTC is used.',
  input: z.object({ timezone: z.string().optional().describe('IANA time zone such as "Europe/Berlin"; default UTC') }),
  effect: 'pure',
  execute: ({ timezone }, context) => {
    const zone = timezone === undefined || timezone.trim() === '' ? 'UTC' : timezone.trim();
    return toIsoWithOffset(context.now(), zone);
  },
});

/** `2026-11-20T20:15:30+01:00` for an instant in ms since the epoch. Throws for an unknown time zone. */
export function toIsoWithOffset(instant: number, timeZone: string): string {
  const parts = formatOf(timeZone).formatToParts(instant);
  const part = (type: Intl.DateTimeFormatPartTypes): string => parts.find((p) => p.type === type)?.value ?? '';
  const date = `${part('year').padStart(4, '0')}-${part('month')}-${part('day')}`;
  const offset = part('timeZoneName').replace('GMT', '');
  return `${date}T${part('hour')}:${part('minute')}:${part('second')}${offset === '' ? '+00:00' : offset}`;
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone,
      calendar: 'iso8601',
      numberingSystem: 'latn',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      hourCycle: 'h23',
      timeZoneName: 'longOffset',
    });
  } catch {
    const shown = timeZone.slice(0, 100);
    throw new Error(`Unknown time zone "${shown}". Use an IANA name such as "Europe/Berlin" or "UTC"`);
  }
}
