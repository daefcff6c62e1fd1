import type { JobEventOf } from '@nightshift/client';

import { formatDuration } from '../format/duration.js';
import { showArguments } from '../format/show-arguments.js';
import { oneLine } from '../terminal/plain-text.js';
import type { Screen, Style } from '../terminal/screen.js';
import { cutToWidth, textWidth } from '../terminal/text-width.js';

/** A call as events describe it. */
export type ToolCallState = JobEventOf<'ToolCallEvent'>['toolCall'];

interface Mark {
  readonly sign: string;
  readonly style: Style;
  /** What became of it, where that is not its result or its error. */
  readonly word?: string;
}

/** How each end of a call looks; absent: it has not ended. */
const marks: Partial<Record<ToolCallState['status'], Mark>> = {
  COMPLETED: { sign: '✓', style: 'green' },
  ERROR: { sign: '✗', style: 'red' },
  TIMED_OUT: { sign: '✗', style: 'red', word: 'timed out' },
  SKIPPED: { sign: '–', style: 'yellow', word: 'skipped' },
  DENIED: { sign: '–', style: 'yellow', word: 'denied' },
  CANCELLED: { sign: '–', style: 'yellow', word: 'cancelled' },
  INTERRUPTED: { sign: '?', style: 'yellow', word: 'outcome unknown' },
};

const LEAST_ARGUMENTS = 24;

export function isSettled(call: ToolCallState): boolean {
  return marks[call.status] !== undefined;
}

/** A settled call on one line: `✓ calculate(expression: "17 * 23") → 391  12 ms`. `null` for a running call. */
export function showToolCall(screen: Screen, call: ToolCallState, tookMs: number | null): string | null {
  const mark = marks[call.status];
  if (mark === undefined) return null;
  const name = oneLine(call.name);
  const outcome = outcomeOf(call, mark);
  const time = tookMs === null || tookMs < 1 ? '' : `  ${formatDuration(tookMs)}`;
  const room = screen.noteColumns - textWidth(`  ${mark.sign} ${name}() ${time}`) - 1;
  const outcomeRoom = Math.max(room - LEAST_ARGUMENTS, room - textWidth(showArguments(call.arguments)));
  const shownOutcome = cutToWidth(outcome, Math.max(12, outcomeRoom));
  const args = cutToWidth(showArguments(call.arguments), Math.max(8, room - textWidth(shownOutcome)));
  const outcomeStyle = mark.style === 'green' ? shownOutcome : screen.paint(mark.style, shownOutcome);
  return `  ${screen.paint(mark.style, mark.sign)} ${screen.paint('cyan', name)}${screen.paint('dim', `(${args})`)} ${outcomeStyle}${screen.paint('dim', time)}`;
}

/** Whether an approver edited the arguments, and what they were before; empty without an edit. */
export function sayEdit({ proposedArguments }: Pick<ToolCallState, 'proposedArguments'>): string {
  return typeof proposedArguments === 'string' ? `edited, proposed: (${showArguments(proposedArguments)})` : '';
}

/** The line below that of a call that was edited. */
export function showEdit(screen: Screen, call: ToolCallState): string | null {
  const edit = sayEdit(call);
  return edit === '' ? null : screen.paint('dim', cutToWidth(`    ${edit}`, screen.noteColumns - 1));
}

function outcomeOf(call: ToolCallState, { word }: Mark): string {
  const text = call.error ?? call.result ?? '';
  if (call.status === 'COMPLETED') return `→ ${oneLine(call.result ?? '')}`;
  return oneLine(word === undefined ? text : [word, text].filter((part) => part !== '').join(': '));
}
