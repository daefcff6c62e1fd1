import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

import type { ToolDefinition } from '#models';
import { canonicalJson } from '#tools';

/** The data that a client receives when it claims a call, and then runs. */
export interface ClaimedPayload {
  readonly workspaceId: string;
  readonly jobId: string;
  readonly callId: string;
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
  readonly definition: ToolDefinition;
}

/** The secret of one claim: 256 random bits. The database stores only its digest. */
export function newClaimToken(): string {
  return randomBytes(32).toString('base64url');
}

/** Binds the token of a claim to the claimed data: another token or other data gives another digest (SHA-256). */
export function claimDigest(token: string, payload: ClaimedPayload): Buffer {
  const { workspaceId, jobId, callId, name, definition } = payload;
  return createHash('sha256')
    .update(canonicalJson([token, workspaceId, jobId, callId, name, payload.arguments, definition]))
    .digest();
}

/** Whether two digests are equal, compared in constant time. */
export function isSameDigest(a: Uint8Array | null, b: Uint8Array): boolean {
  return a !== null && a.length === b.length && timingSafeEqual(a, b);
}

/** Identifies a repeated submission. The digest is keyed by the token, so the record reveals nothing about the text. */
export function submissionDigest(
  token: string,
  { kind, text }: { readonly kind: string; readonly text: string },
): string {
  return createHmac('sha256', token)
    .update(canonicalJson([kind, text]))
    .digest('hex');
}
