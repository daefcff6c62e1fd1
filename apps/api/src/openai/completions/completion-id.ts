/** `chatcmpl-<12 hex>`: the random end of the id of the answer. */
export function toCompletionId(answerId: string): string {
  return `chatcmpl-${answerId.slice(-12)}`;
}

/** When a response began, in seconds since the epoch, read from its id (RFC 9562, section 5.7). */
export function toCreated(answerId: string): number {
  return Math.floor(Number.parseInt(answerId.replaceAll('-', '').slice(0, 12), 16) / 1_000);
}
