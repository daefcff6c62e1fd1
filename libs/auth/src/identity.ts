import { KEY_SCOPES, type KeyScope } from './principal.js';

/** A caller before (or without) entering a workspace. Every member's principal is one. */
export interface Identity {
  readonly id: `user:${string}` | `key:${string}`;
  readonly userId: string;
  readonly scopes: readonly KeyScope[];
  /** The one workspace of an API key, or the one that was entered; null: a token that has entered none. */
  readonly workspaceId: string | null;
  /** In ms since the epoch; null: does not end by itself. */
  readonly expiresAt: number | null;
  /** Lower-case; the address that the issuer of the token in hand has verified. Null or absent: none, as for an API key. */
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
