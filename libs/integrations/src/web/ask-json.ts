import type { GuardedFetch, OutboundRequest } from '#platform';

/** Asks a service that the operator chose, for JSON. Throws what the model may read: the status, and nothing of the answer. */
export async function askJson(fetch: GuardedFetch, request: OutboundRequest, who: string): Promise<unknown> {
  const answer = await fetch.request(request);
  if (answer.status === 429) throw new Error(`${who} takes no more requests for now`);
  if (answer.status < 200 || answer.status > 299) throw new Error(`${who} answers with HTTP ${answer.status}`);
  try {
    return JSON.parse(Buffer.from(answer.body).toString());
  } catch {
    throw new Error(`${who} does not answer with JSON`);
  }
}
