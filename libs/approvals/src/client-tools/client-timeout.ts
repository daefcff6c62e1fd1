import type { ExpireAction } from '#jobs';
import { clientOnly, type Settlement } from '#tools';

/** The error code of a job whose request chose `fail`. */
export const CLIENT_TIMEOUT_CODE = 'client_tool_timeout';

/** The code of a job that waited in vain for results of calls that were handed over. */
export const HANDED_OVER_TIMEOUT_CODE = 'client_tool_expired';

type TimedOut = Settlement & { readonly status: 'timed_out' | 'skipped' };

/** How a call ends whose result no later request has brought in time. Pure. */
export function notProvidedInTime(): TimedOut {
  const message = 'Tool result was not provided in time';
  return { status: 'timed_out', failure: { phase: 'timeout', message, failJob: HANDED_OVER_TIMEOUT_CODE } };
}

/** How a call ends that no client served in time, by what its request declared. Pure. */
export function timedOutAtClients(name: string, action: ExpireAction): TimedOut {
  const phase = 'timeout';
  if (action === 'skip') return { status: 'skipped', failure: { phase, message: clientOnly(name) } };
  const message = `No client ran tool "${name}" in time.`;
  const failJob = action === 'fail' ? { failJob: CLIENT_TIMEOUT_CODE } : {};
  return { status: 'timed_out', failure: { phase, message, ...failJob } };
}
