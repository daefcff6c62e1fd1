import { type Clock, type TextRedactor, toStorableText } from '#platform';

import { CANCELLED_TEXT, UNKNOWN_OUTCOME_TEXT } from './model-text.js';
import { projectResult } from './project-result.js';
import { toKeptResult } from './to-kept-result.js';
import type { Tool, ToolContext } from './tool.js';
import type { Settlement, ToolErrorPhase } from './tool-call.js';
import { ToolArgumentsError, ToolOutcomeUnknown } from './tools.errors.js';
import { executionError, validateArguments } from './validate-arguments.js';

/** The input of one execution of a call. */
export interface ToolRun {
  readonly tool: Tool;
  /** The JSON text in the ledger. */
  readonly arguments: string;
  /** The ids and the principal of the call. `signal` belongs to the job: its abort cancels the call. */
  readonly context: ToolContext;
  /** The timeout in ms of tools that do not set one. */
  readonly defaultTimeoutMs: number;
  readonly clock: Clock;
  /** Removes known secrets from the output of a tool. */
  readonly redactor?: Pick<TextRedactor, 'redact' | 'redactLong'>;
}

/** How a call ended, with all fields of the ledger. */
export type ToolOutcome = Settlement & {
  /** The text that the model reads. */
  readonly modelText: string;
  readonly durationMs: number;
};

/**
 * Runs one call to its end. Never throws: every error becomes an outcome that the model reads.
 *
 * - The handler gets its own signal, which aborts at the timeout and with `context.signal`. If the handler keeps running, the call
 *   does not wait for it and drops its late result or rejection.
 * - Timeout: `timed_out`. Aborted by `context.signal`: `cancelled`, or `interrupted` for a `once` tool, whose effect is unknown.
 *   Aborted before the start: `cancelled`.
 * - A `once` tool throws `ToolOutcomeUnknown`: `interrupted`.
 * - The result is the text itself or JSON. It is redacted and made storable. If it exceeds the durable size, `result` is a preview
 *   and `whole` has the complete text.
 */
export async function executeToolCall(run: ToolRun): Promise<ToolOutcome> {
  const startedAt = run.clock.monotonic();
  const settlement = await settle(run);
  const durationMs = Math.max(0, Math.round(run.clock.monotonic() - startedAt));
  if (settlement.status !== 'completed') return { ...settlement, modelText: settlement.failure.message, durationMs };
  return { ...settlement, modelText: projectResult(settlement.result, 'model'), durationMs };
}

const MAX_REASON_LENGTH = 1_000;

async function settle(run: ToolRun): Promise<Settlement> {
  const { tool, context } = run;
  if (context.signal.aborted) return failed('cancelled', 'execution', CANCELLED_TEXT);
  if (tool.handler === null) return failed('error', 'execution', executionError(tool.name, 'it has no handler'));
  try {
    const args = validateArguments(tool, run.arguments);
    if (!args.ok) return failed('error', 'validation', args.message);
    const ended = await supervise(run, (signal) => handle(run, args.value, signal));
    return ended.status === 'returned' ? await keep(run, ended.text) : ended;
  } catch (error) {
    return thrown(run, error);
  }
}

/** The handler has returned this text: a timeout or an abort no longer changes the outcome. */
interface Returned {
  readonly status: 'returned';
  readonly text: string;
}

async function handle(run: ToolRun, args: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<Returned> {
  const value = await run.tool.handler?.(args, { ...run.context, signal });
  return { status: 'returned', text: toText(value) };
}

async function keep({ redactor, context }: ToolRun, text: string): Promise<Settlement> {
  const shown = toStorableText(redactor === undefined ? text : await redactor.redactLong(text));
  const { durable: result, whole, bytes } = toKeptResult(shown, context.callId);
  return { status: 'completed', result, ...(whole === null ? {} : { whole, resultBytes: bytes }) };
}

/** The first of result, timeout and cancellation decides. The signal then aborts the handler, and a later result is ignored. */
async function supervise(
  run: ToolRun,
  work: (signal: AbortSignal) => Promise<Returned>,
): Promise<Settlement | Returned> {
  const { tool, clock, context } = run;
  const timeoutMs = tool.timeoutMs ?? run.defaultTimeoutMs;
  const controller = new AbortController();
  const { promise, resolve } = Promise.withResolvers<Settlement | Returned>();
  const timer = clock.after(timeoutMs, () => {
    resolve(failed('timed_out', 'timeout', `Handler timeout after ${timeoutMs}ms`));
    controller.abort(new DOMException(`Handler timeout after ${timeoutMs}ms`, 'TimeoutError'));
  });
  const stop = (): void => {
    const isUnknown = tool.effect === 'once';
    resolve(
      failed(isUnknown ? 'interrupted' : 'cancelled', 'execution', isUnknown ? UNKNOWN_OUTCOME_TEXT : CANCELLED_TEXT),
    );
    controller.abort(context.signal.reason);
  };
  context.signal.addEventListener('abort', stop, { once: true });
  try {
    void work(controller.signal).then(resolve, (error: unknown) => {
      resolve(thrown(run, error));
    });
    return await promise;
  } finally {
    timer.cancel();
    context.signal.removeEventListener('abort', stop);
  }
}

function thrown(run: ToolRun, error: unknown): Settlement {
  if (error instanceof ToolOutcomeUnknown && run.tool.effect === 'once')
    return failed('interrupted', 'execution', UNKNOWN_OUTCOME_TEXT);
  const phase: ToolErrorPhase = error instanceof ToolArgumentsError ? 'validation' : 'execution';
  return failed('error', phase, executionError(run.tool.name, shownReason(run, error)));
}

function failed(
  status: Exclude<Settlement['status'], 'completed'>,
  phase: ToolErrorPhase,
  message: string,
): Settlement {
  return { status, failure: { phase, message } };
}

/** The reason is redacted before it is cut, so that the cut cannot leave half of a secret. */
function shownReason({ redactor }: ToolRun, error: unknown): string {
  const text = error instanceof Error ? error.message : typeof error === 'string' ? error : '';
  const reason = text.trim() === '' ? 'it failed without a reason' : text;
  return toStorableText((redactor?.redact(reason) ?? reason).slice(0, MAX_REASON_LENGTH));
}

function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'bigint') return value.toString();
  // `undefined`, functions and symbols have no JSON, so the result is empty.
  const json: unknown = JSON.stringify(value);
  return typeof json === 'string' ? json : '';
}
