import { KEY_SCOPES, type KeyScope } from './principal.js';

/** A caller before, or without, entering a workspace. Every member's principal is one. */
export interface Identity {
  readonly id: `user:${string}` | `key:${string}`;
  readonly userId: string;
  readonly scopes: readonly KeyScope[];
  /** The workspace of an API key, or the one that was entered; null for a token that has entered none. */
  readonly workspaceId: string | null;
  /** In ms since the epoch; null if it does not expire. */
  readonly expiresAt: number | null;
  /** Lower-case; the address that the issuer of the presented token has verified. Null or absent: none, as for an API key. */
  readonly verifiedEmail?: string | null;
}

/** The identity of a verified token. */
export function tokenIdentity(
  userId: string,
  { expiresAt, email: verifiedEmail }: { readonly expiresAt: number; readonly email: string | null },
): Identity & { readonly expiresAt: number; readonly verifiedEmail: string | null } {
  const id = `user:${userId}` as const;
  return Object.freeze({ id, userId, scopes: KEY_SCOPES, workspaceId: null, expiresAt, verifiedEmail });
}
