import type { JobEventOf, JobState } from '@nightshift/client';

import { count } from '../format/count.js';
import { formatDuration } from '../format/duration.js';
import { oneLine } from '../terminal/plain-text.js';
import type { Screen, Style } from '../terminal/screen.js';

type JobFinished = JobEventOf<'JobFinishedEvent'>;

const styles: Readonly<Record<string, Style>> = { COMPLETED: 'green', FAILED: 'red', CANCELLED: 'yellow' };

/** What a job came to and what it cost, in a line; why it failed, in a second one. */
export function showEnd(screen: Screen, end: JobFinished | JobState): string[] {
  const { status, reason, error, usage } = end;
  const why = status === 'CANCELLED' && reason !== null && reason !== 'cancelled' ? ` (${oneLine(reason)})` : '';
  const number = (amount: number) => amount.toLocaleString('en-US');
  const cost = [
    ...('rounds' in end ? [count(end.rounds, 'round'), count(end.toolCalls, 'tool call')] : []),
    ...(usage.totalTokens === 0
      ? []
      : [
          `${count(usage.totalTokens, 'token')} (${number(usage.promptTokens)} in, ${number(usage.completionTokens)} out)`,
        ]),
    formatDuration(durationOf(end)),
  ];
  const line = `${screen.paint(styles[status] ?? 'bold', status.toLowerCase())}${why}${screen.paint('dim', ` · ${cost.join(' · ')}`)}`;
  return error === null ? [line] : [line, screen.paint('red', `${error.code}: ${oneLine(error.message)}`)];
}

function durationOf(end: JobFinished | JobState): number {
  if ('durationMs' in end) return end.durationMs;
  return end.finishedAt === null ? 0 : Date.parse(end.finishedAt) - Date.parse(end.createdAt);
}
