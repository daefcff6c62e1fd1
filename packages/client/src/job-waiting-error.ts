import type { Interrupt } from './interrupt.js';
import { NightshiftError } from './nightshift-error.js';

/**
 * The job waits for something that this client has no handler for; `code` is `job_waiting`. The job is not affected: answer the request
 * (`interrupts.resolve`), or let another user answer it, and call `text()` or `result()` again.
 */
export class JobWaitingError extends NightshiftError {
  /** The request that the job waits for; `decidableBy`, `requester` and `mayDecide` describe who may decide it. */
  readonly request: Interrupt;

  constructor(request: Interrupt) {
    const { jobId, kind, title } = request;
    super(`Job ${jobId} waits: ${title} (${kind.toLowerCase()}, ${addressee(request)}). ${remedyFor(request)}`, {
      code: 'job_waiting',
      retryable: true,
    });
    this.request = request;
  }
}

function addressee({ kind, decidableBy, mayDecide, requester }: Interrupt): string {
  if (kind === 'CLIENT_TOOL') return 'for a client that runs the tool';
  if (kind === 'WAIT') return 'for its event';
  const who = decidableBy === 'REQUESTER' ? `the requester ${requester ?? ''}`.trimEnd() : decidableBy.toLowerCase();
  return `for ${who}${mayDecide ? ', which includes you' : ', not you'}`;
}

function remedyFor({ kind, mayDecide }: Interrupt): string {
  if (kind === 'TOOL_APPROVAL' && mayDecide) return 'Pass onApproval, or onWaiting to keep waiting.';
  if (kind === 'HUMAN_INPUT' && mayDecide) return 'Pass onQuestion, or onWaiting to keep waiting.';
  if (kind === 'CLIENT_TOOL') return 'Pass the tool in tools, or onWaiting to keep waiting.';
  return 'Pass onWaiting to keep waiting.';
}
