import { Injectable } from '@nestjs/common';

import { Authenticator, type Credentials, type Identity, type MemberPrincipal } from '#auth';
import { GraphqlContext } from '#auth/api';
import { AppError, systemClock } from '#platform';

/** The caller that credentials identify, and the workspace that the caller enters, or why it enters none. */
export interface Entrance {
  readonly identity: Identity;
  readonly entrance: MemberPrincipal | AppError;
  /** The workspaces that the user was a member of when the credentials were checked. Used only without an entered workspace. */
  readonly memberOf: readonly string[];
}

const undecided = new Set(['not_found', 'bad_request']);

/** Authenticates credentials and creates the context of each operation. */
@Injectable()
export class ContextFactory {
  constructor(private readonly authenticator: Authenticator) {}

  /**
   * Throws `unauthenticated` for invalid credentials, `rate_limited`, `unavailable`. A known user who enters no workspace (a member of
   * none, or of several without naming one) may still query `me` and create a workspace.
   */
  async enter(credentials: Credentials): Promise<Entrance> {
    try {
      const principal = await this.authenticator.authenticate(credentials);
      return { identity: principal, entrance: principal, memberOf: [] };
    } catch (error) {
      if (!(error instanceof AppError) || !undecided.has(error.code)) throw error;
      const identity = await this.authenticator.identify(credentials);
      return { identity, entrance: error, memberOf: await this.authenticator.workspacesOf(identity.userId) };
    }
  }

  /** The same caller with current rights. Null: the credentials are no longer valid, with or without an entered workspace. */
  async refresh(who: Entrance): Promise<Entrance | null> {
    const { identity, entrance, memberOf } = who;
    if (identity.expiresAt !== null && identity.expiresAt <= systemClock.now()) return null;
    if (entrance instanceof AppError)
      return (await this.authenticator.recheckIdentity(identity, memberOf)) ? who : null;
    const principal = await this.authenticator.recheck(entrance);
    if (principal === null || principal.kind === 'system') return null;
    return principal === entrance ? who : { ...who, identity: principal, entrance: principal };
  }

  make(
    who: Entrance,
    operation: { readonly requestId: string; readonly close: GraphqlContext['close']; readonly req?: object },
  ): GraphqlContext {
    return new GraphqlContext({ ...who, ...operation });
  }
}
