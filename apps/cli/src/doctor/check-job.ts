import type { Context } from '../context.js';
import { formatDuration } from '../format/duration.js';
import { oneLine } from '../terminal/plain-text.js';
import { cutToWidth } from '../terminal/text-width.js';
import type { Check } from './check.js';

const TIMEOUT_MS = 60_000;
const LONGEST_ANSWER = 60;

/** A whole job: the queue, a worker, the model and the stream. It is stopped when that takes more than a minute. */
export async function checkJob(context: Context): Promise<Check> {
  const client = await context.client();
  const startedAt = performance.now();
  const job = await client.startChat({ message: 'Answer with the single word: ready' });
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const result = await job.result({ signal: timeout }).catch((error: unknown) => {
    if (!timeout.aborted) throw error;
    return null;
  });
  if (result === null) return stopSlow(context.command(`logs ${job.id}`), await job.cancel());
  const took = formatDuration(performance.now() - startedAt);
  if (result.status === 'COMPLETED') {
    return {
      name: 'job',
      state: 'ok',
      detail: `completed in ${took} with ${result.model}: ${cutToWidth(oneLine(result.content), LONGEST_ANSWER)}`,
    };
  }
  return {
    name: 'job',
    state: 'failed',
    detail: oneLine(`${result.status.toLowerCase()} after ${took}: ${result.error?.message ?? result.reason ?? ''}`),
    remedy: `The log shows where: ${context.command(`logs ${job.id}`)}. For errors of the model, check the key, the URL and the model name of the provider.`,
  };
}

function stopSlow(logs: string, state: string | null): Check {
  return {
    name: 'job',
    state: 'failed',
    detail: `did not end within ${formatDuration(TIMEOUT_MS)} and was cancelled (${String(state).toLowerCase()})`,
    remedy: `Check that a worker runs and that the model responds. The log shows how far the job came: ${logs}`,
  };
}
