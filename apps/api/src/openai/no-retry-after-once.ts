import type { ServerResponse } from 'node:http';

/**
 * Runs `work`. If it fails before the first byte and a `once` tool has run, the response gets `X-Should-Retry: false`: OpenAI's SDKs
 * retry failed requests by themselves, and a retry without an idempotency key would run the tools again.
 */
export async function noRetryAfterOnce<T>(
  response: ServerResponse,
  hasRunOnce: () => Promise<boolean>,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!response.headersSent && (await hasRunOnce())) response.setHeader('X-Should-Retry', 'false');
    throw error;
  }
}
