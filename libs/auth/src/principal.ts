/** Member roles, most powerful first. */
export const ROLES = ['owner', 'admin', 'member', 'viewer'] as const;
export type Role = (typeof ROLES)[number];

/**
 * What an API key may be used for. A scope only narrows the role of the key's user: `read` allows reading, `write` creating and changing
 * work, `admin` administering the workspace, `approve` deciding requests. No scope implies another.
 */
export const KEY_SCOPES = ['read', 'write', 'admin', 'approve'] as const;
export type KeyScope = (typeof KEY_SCOPES)[number];

interface Member {
  readonly workspaceId: string;
  readonly userId: string;
  /** The user's role in `workspaceId` when the principal was created; `Authenticator.recheck` updates it. */
  readonly role: Role;
  readonly scopes: readonly KeyScope[];
}

/** A person with a token (JWT). Expires with the token. */
export interface UserPrincipal extends Member {
  readonly kind: 'user';
  readonly id: `user:${string}`;
  /** The token's `exp`, in ms since the epoch. */
  readonly expiresAt: number;
  /**
   * Lower-case; the address that the token's issuer has verified. Null or absent: not verified, or not known where the principal was created.
   */
  readonly verifiedEmail?: string | null;
}

/** An API key: acts as its user, in the one workspace in which it was created, narrowed by its scopes. */
export interface KeyPrincipal extends Member {
  readonly kind: 'key';
  readonly id: `key:${string}`;
  /** The public part of the key, by which it is found again. */
  readonly prefix: string;
  /** In ms since the epoch; null: the key does not expire. */
  readonly expiresAt: number | null;
}

/** Nightshift itself, working in one workspace. It never makes a decision for a person. */
export interface SystemPrincipal {
  readonly kind: 'system';
  readonly id: 'system';
  readonly workspaceId: string;
  readonly userId: null;
  readonly role: null;
  readonly scopes: readonly KeyScope[];
  readonly expiresAt: null;
}

/** The caller in one workspace. Frozen and created only here, so that its ability can be cached. */
export type Principal = UserPrincipal | KeyPrincipal | SystemPrincipal;

/** A principal that acts for a person. */
export type MemberPrincipal = UserPrincipal | KeyPrincipal;

/** Creates the principal of a token's user in one of the user's workspaces. A token has every scope. */
export function userPrincipal(
  member: Omit<Member, 'scopes'> & { readonly expiresAt: number; readonly verifiedEmail?: string | null | undefined },
): UserPrincipal {
  const { workspaceId, userId, role, expiresAt, verifiedEmail = null } = member;
  return Object.freeze({
    kind: 'user',
    id: `user:${userId}`,
    workspaceId,
    userId,
    role,
    scopes: KEY_SCOPES,
    expiresAt,
    verifiedEmail,
  });
}

/** Creates the principal of an API key. */
export function keyPrincipal(
  key: Member & { readonly keyId: string; readonly prefix: string; readonly expiresAt: number | null },
): KeyPrincipal {
  const { keyId, ...rest } = key;
  return Object.freeze({ kind: 'key', id: `key:${keyId}`, ...rest });
}

/** Creates the principal of Nightshift's own work in a workspace. */
export function systemPrincipal(workspaceId: string): SystemPrincipal {
  const scopes = ['read', 'write'] as const;
  return Object.freeze({
    kind: 'system',
    id: 'system',
    workspaceId,
    userId: null,
    role: null,
    scopes,
    expiresAt: null,
  });
}

/** Whether a text from a client or a row is a role. */
export function isRole(text: string): text is Role {
  return ROLES.some((role) => role === text);
}

/** Whether a text from a client or a row is a key scope. */
export function isKeyScope(text: string): text is KeyScope {
  return KEY_SCOPES.some((scope) => scope === text);
}
