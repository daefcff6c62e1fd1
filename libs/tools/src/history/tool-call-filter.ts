import type { ToolSort } from '../tool.js';
import type { ToolCallStatus } from '../tool-call.js';
import type { ArgumentCondition } from './argument-content.js';
import { invalidHistoryFilter } from './history.errors.js';

/** A filter for calls. All fields must match. Instants and durations are in ms; an empty list of choices matches no call. */
export interface ToolCallFilter {
  /** The user who started the job. */
  readonly createdBy?: string;
  readonly threadId?: string;
  readonly jobId?: string;
  readonly workflowId?: string;
  /** The name of a tool, or a pattern: `*` matches any number of characters, `?` matches one. */
  readonly tool?: string;
  readonly runtimes?: readonly ToolSort[];
  readonly statuses?: readonly ToolCallStatus[];
  /** The phase of the failure, such as `execution`. */
  readonly errorPhase?: string;
  readonly errorCode?: string;
  /** The principal who decided: `user:<id>` or `key:<id>`. */
  readonly approver?: string;
  readonly createdAfter?: number;
  readonly createdBefore?: number;
  readonly minDurationMs?: number;
  /** Shorter than this. */
  readonly maxDurationMs?: number;
  /** At most 3 conditions, all of which must match the proposed or the approved arguments. */
  readonly arguments?: readonly ArgumentCondition[];
  /** Words of the error message. All must match, in any order and case. */
  readonly errorText?: string;
}

/** The order of a list. Only calls that ran have a duration: a list by duration contains no others. */
export interface ToolCallOrder {
  readonly by: 'time' | 'duration';
  readonly direction: 'asc' | 'desc';
}

/** A position in a list. `durationMs` and `name` are set only for a list by duration. */
export interface ToolCallPlace {
  readonly id: string;
  readonly durationMs?: number;
  readonly name?: string;
}

/** Maximum number of conditions on arguments. */
export const MAX_ARGUMENT_CONDITIONS = 3;

const MAX_TEXT_LENGTH = 200;

/** Throws `bad_request` for a filter that exceeds a limit. */
export function assertToolCallFilter(filter: ToolCallFilter): void {
  const { arguments: conditions = [], errorText = '', tool = '', minDurationMs = 0, maxDurationMs = 0 } = filter;
  if (conditions.length > MAX_ARGUMENT_CONDITIONS) {
    throw invalidHistoryFilter('argument', `argument takes at most ${MAX_ARGUMENT_CONDITIONS} conditions`);
  }
  for (const [field, text] of Object.entries({ errorText, tool })) {
    if (text.length > MAX_TEXT_LENGTH)
      throw invalidHistoryFilter(field, `${field} exceeds ${MAX_TEXT_LENGTH} characters`);
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

/** Splits a text into words of letters and digits in lower case, each once. The longest come first, because they are the rarest. */
export function wordsOf(text: string): readonly string[] {
  const words = new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []);
  return [...words].sort((a, b) => b.length - a.length);
}

/** A pattern in the syntax of SQL's LIKE; null for a plain name. */
export function likeOf(pattern: string): string | null {
  if (!/[*?]/.test(pattern)) return null;
  return pattern
    .replaceAll(/[\\%_]/g, String.raw`\$&`)
    .replaceAll('*', '%')
    .replaceAll('?', '_');
}

/** Patterns of `outcome` that match the statuses and errors of a filter; null: the filter has neither. */
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
