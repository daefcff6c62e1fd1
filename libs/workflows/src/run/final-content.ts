import { type JobRun, type NewJobEvent, roundRow, type RunWrite } from '#jobs';

/** What a run has to show for itself in the end. */
export interface FinalContent {
  readonly text: string;
  /** What was shown with it. */
  readonly reasoning: string;
  /** The round it is stored as; free in the job. */
  readonly round: number;
  /** Whether what was streamed as content is this very text. */
  readonly isShown: boolean;
  readonly startedAt: number;
}

/**
 * The content of a finished workflow job is its final output, stored as a round of no node. Where something else was shown
 * meanwhile (several leaves, a node that only puts together), that is withdrawn first. Pure but for what it reads of `run`.
 */
export function finalContent(run: JobRun, { text, reasoning, round, isShown, startedAt }: FinalContent): RunWrite {
  const isWithdrawn = !isShown && run.contentLength > 0;
  const row = roundRow(run.job, {
    ...{ number: round, model: '', text, reasoning: isWithdrawn ? '' : reasoning },
    ...{ finishReason: 'stop', partial: false },
    ...{ promptTokens: 0, completionTokens: 0, usageEstimated: false, startedAt },
  });
  const withdrawal: NewJobEvent = {
    type: 'round-restarted',
    body: { round, reason: 'final_output', contentLength: 0, reasoningLength: 0 },
  };
  const delta: NewJobEvent = { type: 'text-delta', body: { round, offset: 0, text } };
  return {
    rows: [row],
    events: [...(isWithdrawn ? [withdrawal] : []), ...(isShown || text === '' ? [] : [delta])],
    counts: { restarts: isWithdrawn ? 1 : 0, contentLength: text.length - run.totals.contentLength },
  };
}

/** What was shown as content of a job that ends before its time: kept as a round of no node too, without another word. */
export function keptContent(
  run: JobRun,
  { text, reasoning, round, startedAt }: Omit<FinalContent, 'isShown'>,
): RunWrite {
  const row = roundRow(run.job, {
    ...{ number: round, model: '', text, reasoning, finishReason: 'interrupted', partial: true },
    ...{ promptTokens: 0, completionTokens: 0, usageEstimated: false, startedAt },
  });
  return { rows: [row], counts: { contentLength: text.length - run.totals.contentLength } };
}
