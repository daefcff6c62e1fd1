import type { Interrupt, Nightshift } from '@nightshift/client';

import { oneLine } from '../terminal/plain-text.js';
import type { Screen } from '../terminal/screen.js';
import { askerOf } from './asker.js';
import { showRequest } from './show-request.js';

/** A request as a person has to see it, with the sub-job that asks where it is not the job that was started. */
export async function showAsked(screen: Screen, client: Nightshift, request: Interrupt): Promise<string[]> {
  const [head = '', ...rest] = showRequest(screen, request, Date.now());
  if (request.jobId === request.rootJobId) return [head, ...rest];
  const asker = await askerOf(client, request);
  const from = asker === null ? `sub-job ${request.jobId}` : `${oneLine(asker)} (sub-job ${request.jobId})`;
  return [head, screen.paint('dim', `  requested by ${from}`), ...rest];
}
