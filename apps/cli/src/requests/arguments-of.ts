import type { Interrupt, Nightshift } from '@nightshift/client';
import { JobResultDocument } from '@nightshift/client/operations';

/** The arguments of the call that a request is about, its secrets hidden; an empty object when they cannot be read. */
export async function argumentsOf(client: Nightshift, { jobId, toolCallId }: Interrupt): Promise<unknown> {
  const { job } = await client.query(JobResultDocument, { id: jobId });
  const call = job?.toolCalls.find(({ id }) => id === toolCallId);
  try {
    return JSON.parse(call?.arguments ?? '{}') as unknown;
  } catch {
    return {};
  }
}
