import { isId } from '#platform';
import { idOfCursor, invalidCursor, textOfCursor, toCursor } from '#platform/api';

import type { ToolCallOrder, ToolCallPlace } from '../../history/tool-call-filter.js';

const kinds = { time: 'toolCalls', duration: 'toolCallsByDuration' } as const;

/** The cursor of a place in a list of calls. */
export function toPlaceCursor({ by }: ToolCallOrder, { id, durationMs = 0, name = '' }: ToolCallPlace): string {
  return toCursor(kinds[by], by === 'time' ? id : `${durationMs}|${id}|${name}`);
}

/** The place in a cursor. Throws `invalid_cursor` for one of another list. */
export function placeOfCursor({ by }: ToolCallOrder, cursor: string, field: string): ToolCallPlace {
  if (by === 'time') return { id: idOfCursor(cursor, kinds.time, field) };
  const [, duration = '', id = '', name = ''] =
    /^(\d{1,10})\|([^|]*)\|(.*)$/s.exec(textOfCursor(cursor, kinds.duration, field)) ?? [];
  const durationMs = Number(duration);
  if (!isId(id) || durationMs > 2_147_483_647) throw invalidCursor(field);
  return { id, durationMs, name };
}
