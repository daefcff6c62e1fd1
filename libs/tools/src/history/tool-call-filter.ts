import type { ToolSort } from '../tool.js';
import type { ToolCallStatus } from '../tool-call.js';
import type { ArgumentCondition } from './argument-content.js';
import { invalidHistoryFilter } from './history.errors.js';

/** Which calls; every member narrows it. Instants and durations in ms; an empty list of choices fits nothing. */
export interface ToolCallFilter {
  /** The user whose job asked for the call. */
  readonly createdBy?: string;
  readonly threadId?: string;
  readonly jobId?: string;
  readonly workflowId?: string;
  /** The name of a tool, or a pattern: `*` stands for any run of characters, `?` for one. */
  readonly tool?: string;
  readonly runtimes?: readonly ToolSort[];
  readonly statuses?: readonly ToolCallStatus[];
  /** Where it failed, such as `execution`. */
  readonly errorPhase?: string;
  readonly errorCode?: string;
  /** The principal who decided about it: `user:<id>` or `key:<id>`. */
  readonly approver?: string;
  readonly createdAfter?: number;
  readonly createdBefore?: number;
  readonly minDurationMs?: number;
  /** Shorter than this. */
  readonly maxDurationMs?: number;
  /** All of them, at most 3: as the model proposed the arguments or as a person approved them. */
  readonly arguments?: readonly ArgumentCondition[];
  /** Words that the failure contains, all of them, in any order and case. */
  readonly errorText?: string;
}

/** What a list goes by. Only calls that ran have a duration: a list by duration holds no others. */
export interface ToolCallOrder {
  readonly by: 'time' | 'duration';
  readonly direction: 'asc' | 'desc';
}

/** A place in a list. `durationMs` and `name`: only where the list goes by duration. */
export interface ToolCallPlace {
  readonly id: string;
  readonly durationMs?: number;
  readonly name?: string;
}

/** How many conditions on arguments a filter holds. */
export const MAX_ARGUMENT_CONDITIONS = 3;

const LONGEST_TEXT = 200;

/** Throws `bad_request` for a filter that is too much to look for. */
export function assertToolCallFilter(filter: ToolCallFilter): void {
  const { arguments: conditions = [], errorText = '', tool = '', minDurationMs = 0, maxDurationMs = 0 } = filter;
  if (conditions.length > MAX_ARGUMENT_CONDITIONS) {
    throw invalidHistoryFilter('argument', `argument takes at most ${MAX_ARGUMENT_CONDITIONS} conditions`);
  }
  for (const [field, text] of Object.entries({ errorText, tool })) {
    if (text.length > LONGEST_TEXT) throw invalidHistoryFilter(field, `${field} exceeds ${LONGEST_TEXT} characters`);
  }
  if (minDurationMs < 0 || maxDurationMs < 0) {
    throw invalidHistoryFilter('durationMs', 'durationMs must not be negative');
  }
}

/** Whether the filter can match no call. */
export function fitsNothing({ runtimes, statuses, errorText }: ToolCallFilter): boolean {
  return (
    runtimes?.length === 0 || statuses?.length === 0 || (errorText !== undefined && wordsOf(errorText).length === 0)
  );
}

/** Letters and digits in lower case, each word once, the longest first: they are the rarest. */
export function wordsOf(text: string): readonly string[] {
  const words = new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []);
  return [...words].sort((a, b) => b.length - a.length);
}

/** A pattern as SQL's LIKE has it; null for a plain name. */
export function likeOf(pattern: string): string | null {
  if (!/[*?]/.test(pattern)) return null;
  return pattern
    .replaceAll(/[\\%_]/g, String.raw`\$&`)
    .replaceAll('*', '%')
    .replaceAll('?', '_');
}

/** Patterns of `outcome` that match the statuses and error class of a filter; null: it has neither. */
export function outcomePatterns({ statuses, errorPhase, errorCode }: ToolCallFilter): readonly string[] | null {
  if (statuses === undefined && errorPhase === undefined && errorCode === undefined) return null;
  const starts = statuses ?? ['%'];
  if (errorPhase === undefined && errorCode === undefined) return starts.flatMap((s) => [s, `${s}:%`]);
  const phase = errorPhase === undefined ? '%' : escapeLike(errorPhase);
  const ends = errorCode === undefined ? [`:${phase}`, `:${phase}/%`] : [`:${phase}/${escapeLike(errorCode)}`];
  return starts.flatMap((start) => ends.map((end) => start + end));
}

function escapeLike(text: string): string {
  return text.replaceAll(/[\\%_]/g, String.raw`\$&`);
}
