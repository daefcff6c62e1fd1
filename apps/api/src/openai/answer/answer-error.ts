import { humanWait, type JobStatus } from '#jobs';

import { OpenAiError } from '../../errors/openai-error.js';

/** How a job ended, and what its response has already sent. */
interface AnswerEnding {
  readonly status: JobStatus;
  /** As the job gives it. */
  readonly reason: string | null;
  readonly isStrict: boolean;
  /** The response has no text, although nothing stopped the model. */
  readonly isEmpty: boolean;
}

/** What is wrong with an answer whose job has ended; null: nothing. Pure. */
export function answerError({ status, reason, isStrict, isEmpty }: AnswerEnding): OpenAiError | null {
  if (status === 'failed')
    return new OpenAiError({ status: 500, message: 'Agent execution failed', code: 'job_failed' });
  if (status === 'cancelled')
    return isStrict && reason === humanWait
      ? humanNotWaitedFor()
      : new OpenAiError({ status: 500, message: 'The job was cancelled', code: 'job_cancelled' });
  return isEmpty
    ? new OpenAiError({ status: 500, message: 'Agent returned empty response', code: 'job_failed' })
    : null;
}

function humanNotWaitedFor(): OpenAiError {
  const message = 'x-tool-event-format=openai cannot pause for human approval or input';
  return new OpenAiError({ status: 400, message });
}
