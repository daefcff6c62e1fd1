import type { Interrupt, Nightshift } from '@nightshift/client';

import { askerDocument } from '../operations.js';

/** For a request of a sub-job: the tool that started it. */
export async function askerOf(client: Nightshift, { jobId, rootJobId }: Interrupt): Promise<string | null> {
  if (jobId === rootJobId) return null;
  const { job } = await client.query(askerDocument, { id: jobId });
  return job?.parent?.toolCalls.find(({ subJob }) => subJob?.id === jobId)?.name ?? null;
}
