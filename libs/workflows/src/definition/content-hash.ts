import { createHash } from 'node:crypto';

import { canonicalJson } from '#tools';

/**
 * SHA-256 (hex) of a definition's canonical JSON (RFC 8785, members sorted): equal JSON values have the same hash. The
 * definition must come from `JSON.parse` and be within the limits of a document.
 */
export function contentHash(definition: unknown): string {
  return createHash('sha256').update(canonicalJson(definition)).digest('hex');
}
