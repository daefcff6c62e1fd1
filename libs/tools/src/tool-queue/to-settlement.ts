import { toKeptResult } from '../outputs/to-kept-result.js';
import type { Settlement } from '../tool-call.js';
import { executionError } from '../validate-arguments.js';
import type { ToolResponse } from './queue-message.js';
import type { CallFate } from './queue-settler.js';

/** What a response makes of its call; null: it was stopped, and its effect decides. Pure. */
export function toSettlement(
  { name, callId }: { readonly name: string; readonly callId: string },
  { status, result, error, started }: ToolResponse,
): (Settlement & CallFate) | null {
  const failure = error ?? { phase: 'execution' as const, message: executionError(name, 'it failed without a reason') };
  switch (status) {
    case 'success': {
      if (result?.success !== true)
        return { status: 'error', failure: resultFailure(name, result?.content) ?? failure, started };
      const { durable, whole, bytes } = toKeptResult(result.content, callId);
      const kept = whole === null ? {} : { whole, resultBytes: result.bytes ?? bytes };
      return { status: 'completed', result: durable, started, ...kept };
    }
    case 'error':
      // Rights were lost while the call waited: what the model reads does not tell.
      if (failure.phase === 'approval') return { status: 'denied', failure, started, approval: 'withdrawn' };
      return { status: 'error', failure, started };
    case 'timed_out':
      return { status: 'timed_out', failure, started };
    case 'cancelled':
      return null;
  }
}

const longestReason = 1_000;

function resultFailure(name: string, content: string | undefined) {
  if (content === undefined || content.trim() === '') return null;
  return { phase: 'execution' as const, message: executionError(name, content.slice(0, longestReason)) };
}
