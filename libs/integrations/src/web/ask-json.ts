import { type GuardedFetch, type OutboundRequest, parseJson } from '#platform';

/**
 * Requests JSON from a service that the operator configured. Throws errors that the model may read: they contain the status, and no part of
 * the response.
 */
export async function askJson(fetch: GuardedFetch, request: OutboundRequest, who: string): Promise<unknown> {
  const answer = await fetch.request(request);
  if (answer.status === 429) throw new Error(`the rate limit of ${who} is reached; try again later`);
  if (answer.status < 200 || answer.status > 299) throw new Error(`${who} responded with HTTP status ${answer.status}`);
  try {
    return parseJson(Buffer.from(answer.body).toString());
  } catch {
    throw new Error(`${who} did not respond with JSON`);
  }
}
