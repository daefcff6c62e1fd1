import { Injectable } from '@nestjs/common';

import { Authenticator, type Credentials, type Identity, type MemberPrincipal } from '#auth';
import { GraphqlContext } from '#auth/api';
import { AppError, systemClock } from '#platform';

/** Who is behind credentials, and whether they enter a workspace. */
export interface Entrance {
  readonly identity: Identity;
  readonly entrance: MemberPrincipal | AppError;
  /** Without an entered workspace: those that the user was a member of when the credentials were checked. */
  readonly memberOf: readonly string[];
}

const undecided = new Set(['not_found', 'bad_request']);

/** Authenticates credentials and creates the context of each operation. */
@Injectable()
export class ContextFactory {
  constructor(private readonly authenticator: Authenticator) {}

  /**
   * Throws `unauthenticated` for credentials that do not hold, `rate_limited`, `unavailable`. A known user who enters no
   * workspace (a member of none, or of several without naming one) may still ask for `me` and make one.
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

  /** The same caller with the rights of now; null when the credentials open nothing any more, whether they entered a workspace or not. */
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
