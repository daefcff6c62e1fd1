import type { Interrupt, Nightshift } from '@nightshift/client';
import { JobResultDocument, type JobResultQuery } from '@nightshift/client/operations';

/** The arguments of the call that a request is about, its secrets hidden; an empty object when they cannot be read. */
export async function argumentsOf(client: Nightshift, request: Interrupt): Promise<unknown> {
  const call = await callOf(client, request);
  try {
    return JSON.parse(call?.arguments ?? '{}') as unknown;
  } catch {
    return {};
  }
}

type Call = NonNullable<JobResultQuery['job']>['toolCalls'][number];

/** The call that a request is about, as it stands now. */
export async function callOf(client: Nightshift, { jobId, toolCallId }: Interrupt): Promise<Call | undefined> {
  if (toolCallId === null) return undefined;
  const { job } = await client.query(JobResultDocument, { id: jobId });
  return job?.toolCalls.find(({ id }) => id === toolCallId);
}
