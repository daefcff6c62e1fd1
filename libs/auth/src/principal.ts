/** Member roles, most powerful first. */
export const ROLES = ['owner', 'admin', 'member', 'viewer'] as const;
export type Role = (typeof ROLES)[number];

/**
 * What an API key may be used for. A scope only ever narrows the role of the key's user: `read` its reads, `write` its
 * creating and changing of work, `admin` its running of the workspace, `approve` its decisions. None implies another.
 */
export const KEY_SCOPES = ['read', 'write', 'admin', 'approve'] as const;
export type KeyScope = (typeof KEY_SCOPES)[number];

interface Member {
  readonly workspaceId: string;
  readonly userId: string;
  /** The user's role in `workspaceId` at the time of asking; `Authenticator.recheck` brings it up to date. */
  readonly role: Role;
  readonly scopes: readonly KeyScope[];
}

/** A person with a token (JWT). Ends with it. */
export interface UserPrincipal extends Member {
  readonly kind: 'user';
  readonly id: `user:${string}`;
  /** The token's `exp`, in ms since the epoch. */
  readonly expiresAt: number;
  /** Lower-case; what the token's issuer has verified. Null: not verified, or not known where the principal was made. */
  readonly verifiedEmail?: string | null;
}

/** An API key: acts as the user that owns it, in the one workspace it was made in, narrowed by its scopes. */
export interface KeyPrincipal extends Member {
  readonly kind: 'key';
  readonly id: `key:${string}`;
  /** The public part of the key, by which it is looked up again. */
  readonly prefix: string;
  /** In ms since the epoch; null: the key does not expire. */
  readonly expiresAt: number | null;
}

/** Nightshift itself, at work in one workspace. It never decides anything for a person. */
export interface SystemPrincipal {
  readonly kind: 'system';
  readonly id: 'system';
  readonly workspaceId: string;
  readonly userId: null;
  readonly role: null;
  readonly scopes: readonly KeyScope[];
  readonly expiresAt: null;
}

/** Who asks, in which workspace. Frozen and made only here, so that an ability can be remembered by it. */
export type Principal = UserPrincipal | KeyPrincipal | SystemPrincipal;

/** A principal with a person behind it. */
export type MemberPrincipal = UserPrincipal | KeyPrincipal;

/** Makes the principal of a token's user in one of the user's workspaces. A token carries every scope. */
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

/** Makes the principal of an API key. */
export function keyPrincipal(
  key: Member & { readonly keyId: string; readonly prefix: string; readonly expiresAt: number | null },
): KeyPrincipal {
  const { keyId, ...rest } = key;
  return Object.freeze({ kind: 'key', id: `key:${keyId}`, ...rest });
}

/** Makes the principal for Nightshift's own work in a workspace. */
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

/** Whether a text from outside is a role. */
export function isRole(text: string): text is Role {
  return ROLES.some((role) => role === text);
}

/** Whether a text from outside is a key scope. */
export function isKeyScope(text: string): text is KeyScope {
  return KEY_SCOPES.some((scope) => scope === text);
}
