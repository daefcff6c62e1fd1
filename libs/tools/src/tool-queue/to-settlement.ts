import { projectResult } from '../project-result.js';
import type { Settlement } from '../tool-call.js';
import { executionError } from '../validate-arguments.js';
import type { ToolResponse } from './queue-message.js';

/** What a response makes of its call; null: it was stopped, and its effect decides. Pure. */
export function toSettlement(name: string, { status, result, error }: ToolResponse): Settlement | null {
  const failure = error ?? { phase: 'execution' as const, message: executionError(name, 'it failed without a reason') };
  switch (status) {
    case 'success': {
      if (result?.success !== true)
        return { status: 'error', failure: resultFailure(name, result?.content) ?? failure };
      const { content, bytes } = result;
      return {
        status: 'completed',
        result: projectResult(content, 'durable'),
        ...(bytes === undefined ? {} : { resultBytes: bytes }),
      };
    }
    case 'error':
      // Rights were lost while the call waited: what the model reads does not tell.
      return { status: failure.phase === 'approval' ? 'denied' : 'error', failure };
    case 'timed_out':
      return { status: 'timed_out', failure };
    case 'cancelled':
      return null;
  }
}

const longestReason = 1_000;

function resultFailure(name: string, content: string | undefined) {
  if (content === undefined || content.trim() === '') return null;
  return { phase: 'execution' as const, message: executionError(name, content.slice(0, longestReason)) };
}
