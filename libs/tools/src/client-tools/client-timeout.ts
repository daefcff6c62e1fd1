import type { ExpireAction } from '#jobs';

import { clientOnly } from '../model-text.js';
import type { Settlement } from '../tool-call.js';

/** The code of a job whose request says `fail`. */
export const CLIENT_TIMEOUT_CODE = 'client_tool_timeout';

/** How a call ends that no client served in time, by what its request declared. Pure. */
export function timedOutAtClients(
  name: string,
  action: ExpireAction,
): Settlement & { readonly status: 'timed_out' | 'skipped' } {
  const phase = 'timeout';
  if (action === 'skip') return { status: 'skipped', failure: { phase, message: clientOnly(name) } };
  const message = `No client ran tool "${name}" in time.`;
  const failJob = action === 'fail' ? { failJob: CLIENT_TIMEOUT_CODE } : {};
  return { status: 'timed_out', failure: { phase, message, ...failJob } };
}
