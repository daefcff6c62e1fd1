import type { HookEvents } from '@nightshift/plugin';

import { toStorableText } from '#platform';

import type { ToolOutcome } from '../execute-tool-call.js';
import { projectResult } from '../project-result.js';
import { toKeptResult } from '../to-kept-result.js';
import { executionError } from '../validate-arguments.js';
import type { AppliedHook, Hooks } from './hooks.js';

/** A call that has ended, without its result. */
export type EndedCallEvent = Omit<HookEvents['afterToolCall'], 'result' | 'error' | 'durationMs'>;

/** The end of a call after the hooks, and their changes. */
export interface FilteredResult {
  readonly outcome: ToolOutcome;
  readonly applied: readonly AppliedHook[];
}

/**
 * The outcome of a call after the `afterToolCall` hooks. Calls that were cancelled or have an unknown outcome are not filtered. No signal
 * aborts the hooks: an unfiltered result must not be stored because the job was stopped meanwhile.
 */
export async function filterResult(
  hooks: Pick<Hooks, 'filter'>,
  call: EndedCallEvent,
  { outcome, redact }: { readonly outcome: ToolOutcome; readonly redact: (text: string) => string },
): Promise<FilteredResult> {
  if (!['completed', 'error', 'timed_out'].includes(outcome.status)) return { outcome, applied: [] };
  const isDone = outcome.status === 'completed';
  const { event, end, applied } = await hooks.filter('afterToolCall', {
    ...call,
    result: isDone ? (outcome.whole ?? outcome.result) : null,
    error: isDone ? null : outcome.failure.message,
    durationMs: outcome.durationMs,
  });
  if (applied.length === 0) return { outcome, applied };
  const { durationMs } = outcome;
  const clean = (text: string) => toStorableText(redact(text));
  if (end !== null || event.result === null) {
    const reason = end?.reason ?? event.error ?? '';
    const message = clean(end === null ? reason : executionError(call.tool, reason));
    const failure = { phase: 'execution', message, ...(end === null ? {} : { code: end.code }) } as const;
    return { outcome: { status: 'error', failure, modelText: message, durationMs }, applied };
  }
  return { outcome: { ...hookResult(clean(event.result), call.callId), durationMs }, applied };
}

/** The outcome of a call whose result a hook has returned; `text` without known secrets. */
export function hookResult(text: string, callId: string): ToolOutcome {
  const { durable: result, whole, bytes } = toKeptResult(text, callId);
  const kept = whole === null ? {} : { whole, resultBytes: bytes };
  return { status: 'completed', result, ...kept, modelText: projectResult(result, 'model'), durationMs: 0 };
}
