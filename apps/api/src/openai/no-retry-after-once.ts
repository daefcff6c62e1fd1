import type { ServerResponse } from 'node:http';

/**
 * Does `work`; when it fails before the first byte and a `once` tool has run by then, the reply carries `X-Should-Retry: false`.
 * OpenAI's SDKs repeat failed requests by themselves, and the repeat of one without a key would run its tools again.
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
