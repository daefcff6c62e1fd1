import { defined } from '#platform';

import type { JobFailure } from '../job.js';
import type { TerminalStatus } from '../job.lifecycle.js';
import type { NewJobEvent } from './job-event.js';

/** Totals of a job at its end. */
export interface FinalTotals {
  readonly contentLength: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly toolCalls: number;
  readonly rounds: number;
  /** From acceptance to the end, ms. */
  readonly durationMs: number;
}

export interface JobEnd {
  readonly status: TerminalStatus;
  /** Finish reason, error code, or the reason of the cancel. */
  readonly reason: string;
  readonly error?: JobFailure;
}

/** The last event of a job. Every code path that ends a job builds it here. */
export function jobFinished(end: JobEnd, totals: FinalTotals): NewJobEvent {
  const { promptTokens, completionTokens } = totals;
  return {
    type: 'job-finished',
    body: {
      status: end.status,
      reason: end.reason,
      ...defined({ error: end.error }),
      content_length: totals.contentLength,
      usage: { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens },
      durationMs: Math.max(0, Math.round(totals.durationMs)),
      toolCalls: totals.toolCalls,
      rounds: totals.rounds,
    },
  };
}
