import { createHash } from 'node:crypto';

import { type Clock, isId, type Logger } from '#platform';

import type { AccessCache } from '../access-cache.js';
import type { ApiKeyAuthenticator } from '../api-keys/api-key-authenticator.js';
import { unauthenticated, workspaceNotFound, workspaceRequired } from '../auth.errors.js';
import { type Identity, tokenIdentity } from '../identity.js';
import type { MembershipRecord, UserRecord } from '../identity.repository.js';
import type { JwtVerifier } from '../jwt-verifier.js';
import {
  type KeyPrincipal,
  type MemberPrincipal,
  type Principal,
  type UserPrincipal,
  userPrincipal,
} from '../principal.js';

/** The credentials that an endpoint received: the `Authorization` header (or that of `connection_init`) and the requested workspace. */
export interface Credentials {
  readonly authorization?: string | undefined;
  readonly workspaceId?: string | undefined;
}

/** Dependencies of `Authenticator`. */
export interface AuthenticatorParts {
  readonly access: AccessCache;
  readonly keys: ApiKeyAuthenticator;
  readonly jwt: JwtVerifier;
  readonly clock: Clock;
  /** Logs which user could not enter a workspace, and why. */
  readonly logger?: Pick<Logger, 'info'> | undefined;
}

const BEARER = /^Bearer +([\x21-\x7e]+)$/i;

/** Authenticates the caller of a request, in the same way for every endpoint. */
export class Authenticator {
  constructor(private readonly parts: AuthenticatorParts) {}

  /**
   * The principal of a bearer credential (RFC 6750, section 2.1). An API key enters its workspace; a token enters the requested workspace, or
   * the only one of its user. Throws `unauthenticated` for a missing, wrong, expired or revoked credential, `not_found` for a workspace that
   * is absent or of which the user is not a member, `bad_request` if the user must choose a workspace, `rate_limited`, `unavailable`. Results
   * are cached for a second; see `AccessCache`.
   */
  async authenticate(credentials: Credentials): Promise<MemberPrincipal> {
    const token = bearerOf(credentials.authorization);
    const { workspaceId } = credentials;
    const principal = await this.parts.access.principal(fingerprintOf(token, workspaceId), () =>
      isKey(token) ? this.enterByKey(token, workspaceId) : this.enterByToken(token, workspaceId),
    );
    // A cached principal must not be used after its token or key has expired.
    if (this.hasEnded(principal)) throw unauthenticated();
    return principal;
  }

  /** The identity of the caller, without a workspace: for `me`, and for creating a workspace. Throws like `authenticate`. */
  async identify(credentials: Pick<Credentials, 'authorization'>): Promise<Identity> {
    const token = bearerOf(credentials.authorization);
    return isKey(token) ? this.parts.keys.authenticate(token) : this.identityOf(token);
  }

  /** The workspaces that a token's user, or a key, may enter. Cached like the principal. Throws like `authenticate`. */
  async workspaceIdsOf({ authorization }: Pick<Credentials, 'authorization'>): Promise<readonly string[]> {
    const token = bearerOf(authorization);
    if (isKey(token)) return [(await this.parts.keys.authenticate(token)).workspaceId];
    const user = await this.parts.access.user((await this.identityOf(token)).userId);
    return (user?.memberships ?? []).map(({ workspaceId }) => workspaceId);
  }

  /**
   * The principal as it is now (its role may have changed), or null if its credential has expired or was revoked, or its user is no longer a
   * member. At most a second old, and current after an `access-changed` hint. Cheap enough for every batch.
   */
  async recheck(principal: Principal): Promise<Principal | null> {
    if (principal.kind === 'system') return principal;
    if (this.hasEnded(principal)) return null;
    return principal.kind === 'key' ? this.parts.keys.recheck(principal) : this.recheckUser(principal);
  }

  /** The workspaces that a user is a member of. At most a second old, and current after an `access-changed` hint. */
  async workspacesOf(userId: string): Promise<readonly string[]> {
    const user = await this.parts.access.user(userId);
    return (user?.memberships ?? []).map(({ workspaceId }) => workspaceId);
  }

  /**
   * Whether an identity that has entered no workspace is still valid: its key is valid, or its user is still a member of all workspaces
   * `memberOf`. As current as the result of `recheck`.
   */
  async recheckIdentity(identity: Identity, memberOf: readonly string[]): Promise<boolean> {
    if (isPrincipal(identity)) return (await this.recheck(identity)) !== null;
    if (identity.expiresAt !== null && identity.expiresAt <= this.parts.clock.now()) return false;
    const current = new Set(await this.workspacesOf(identity.userId));
    return memberOf.every((workspaceId) => current.has(workspaceId));
  }

  private async enterByKey(token: string, workspaceId: string | undefined): Promise<KeyPrincipal> {
    const principal = await this.parts.keys.authenticate(token);
    if (workspaceId !== undefined && workspaceId.toLowerCase() !== principal.workspaceId) throw workspaceNotFound();
    return principal;
  }

  private async enterByToken(token: string, workspaceId: string | undefined): Promise<UserPrincipal> {
    const { userId, expiresAt, verifiedEmail } = await this.identityOf(token);
    if (workspaceId !== undefined && !isId(workspaceId)) throw workspaceNotFound();
    const { access } = this.parts;
    const asked = workspaceId?.toLowerCase();
    // The cache may not contain a workspace that was created a moment ago.
    const entered = entryOf(await access.user(userId), asked) ?? entryOf(await access.currentUser(userId), asked);
    if (entered === undefined) {
      const detail =
        asked === undefined ? 'the user is not a member of any workspace' : 'the user is not a member of the workspace';
      this.parts.logger?.info(
        { reason: 'not_a_member', detail, userId, workspaceId: asked },
        "the token's user belongs to no workspace",
      );
      throw workspaceNotFound();
    }
    return userPrincipal({ workspaceId: entered.workspaceId, userId, role: entered.role, expiresAt, verifiedEmail });
  }

  private async identityOf(token: string): Promise<ReturnType<typeof tokenIdentity>> {
    const verified = await this.parts.jwt.verify(token);
    if (verified === null) throw unauthenticated();
    return tokenIdentity(await this.parts.access.userIdOf(verified), verified);
  }

  private async recheckUser(principal: UserPrincipal): Promise<UserPrincipal | null> {
    const { workspaceId, userId, expiresAt, verifiedEmail } = principal;
    const user = await this.parts.access.user(userId);
    const membership = user?.memberships.find((candidate) => candidate.workspaceId === workspaceId);
    if (membership === undefined) return null;
    const { role } = membership;
    return role === principal.role ? principal : userPrincipal({ workspaceId, userId, role, expiresAt, verifiedEmail });
  }

  private hasEnded(principal: MemberPrincipal): boolean {
    return principal.expiresAt !== null && principal.expiresAt <= this.parts.clock.now();
  }
}

function isPrincipal(identity: Identity): identity is MemberPrincipal {
  return 'kind' in identity;
}

/** The membership to enter. Throws if there are several and the request names none. */
function entryOf(user: UserRecord | null, asked: string | undefined): MembershipRecord | undefined {
  const memberships = user?.memberships ?? [];
  if (asked === undefined && memberships.length > 1) throw workspaceRequired();
  return memberships.find(({ workspaceId }) => asked === undefined || workspaceId === asked);
}

function bearerOf(authorization: string | undefined): string {
  const token = authorization === undefined ? undefined : BEARER.exec(authorization.trim())?.[1];
  if (token === undefined) throw unauthenticated();
  return token;
}

function isKey(token: string): boolean {
  return token.startsWith('nsk_');
}

/** Identifies a credential without keeping it in memory after the request. */
function fingerprintOf(token: string, workspaceId: string | undefined): string {
  return `${createHash('sha256').update(token).digest('base64')}|${workspaceId ?? ''}`;
}
