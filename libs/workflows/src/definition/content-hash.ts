import { createHash } from 'node:crypto';

import { canonicalJson } from '#tools';

/**
 * SHA-256 (hex) of a definition's canonical JSON (RFC 8785, members sorted): two texts that say the same have the same hash. For
 * what came out of `JSON.parse` and is within the limits of a document.
 */
export function contentHash(definition: unknown): string {
  return createHash('sha256').update(canonicalJson(definition)).digest('hex');
}
