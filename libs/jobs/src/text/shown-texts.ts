import { defined } from '#platform';

import { isDelta, type NewJobEvent } from '../events/job-event.js';
import type { ShownPiece } from './shown-text.js';
import type { TextPlace } from './text-place.js';

/** What the log of a job shows, in order: its content, its reasoning, and the unfinished rounds. */
export interface ShownTexts {
  readonly text: readonly ShownPiece[];
  readonly reasoning: readonly ShownPiece[];
  /** UTF-16 units before these pieces; absent: 0. */
  readonly before?: { readonly text: number; readonly reasoning: number };
  /** Rounds whose text was shown and neither finished nor withdrawn, each with its place. */
  readonly open: ReadonlyMap<number, TextPlace | undefined>;
}

/** Events that determine the shown text. */
export const showingTypes = ['text-delta', 'reasoning-delta', 'round-restarted', 'round-finished'] as const;

/** Builds what a viewer of `events` shows, by the rules of the protocol. Ignores other events. Pure. */
export function shownTexts(events: Iterable<NewJobEvent>): ShownTexts {
  const text: Piece[] = [];
  const reasoning: Piece[] = [];
  const open = new Map<number, TextPlace | undefined>();
  const finished = new Set<number>();
  for (const event of events) {
    if (event.type === 'round-finished') {
      finished.add(event.body.round);
      open.delete(event.body.round);
    } else if (event.type === 'round-restarted') {
      cut(text, event.body.contentLength);
      cut(reasoning, event.body.reasoningLength);
      open.delete(event.body.round);
    } else if (isDelta(event)) {
      const { round, offset, nodeId, branchId } = event.body;
      if (offset !== undefined)
        show(event.type === 'text-delta' ? text : reasoning, { round, offset, text: event.body.text });
      if (finished.has(round) || open.has(round)) continue;
      const isContent = offset !== undefined;
      open.set(round, nodeId === undefined ? undefined : { nodeId, ...defined({ branchId }), isContent });
    }
  }
  return { text, reasoning, open };
}

interface Piece {
  readonly round: number;
  readonly offset: number;
  text: string;
}

function show(shown: Piece[], piece: Piece): void {
  const last = shown.at(-1);
  if (last?.round === piece.round) last.text += piece.text;
  else shown.push(piece);
}

/** Removes the text after `length`. */
function cut(shown: Piece[], length: number): void {
  for (let last = shown.at(-1); last !== undefined && last.offset + last.text.length > length; last = shown.at(-1)) {
    if (last.offset < length) last.text = last.text.slice(0, length - last.offset);
    else shown.pop();
  }
}
