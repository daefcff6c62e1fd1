import { Injectable } from '@nestjs/common';

import { Authenticator, type Credentials, type Identity, type MemberPrincipal } from '#auth';
import { AppError, systemClock } from '#platform';

import { GraphqlContext } from './graphql-context.js';
import { LoadersFactory } from './loaders.js';

/** Who is behind credentials, and whether they enter a workspace. */
export interface Entrance {
  readonly identity: Identity;
  readonly entrance: MemberPrincipal | AppError;
}

const undecided = new Set(['not_found', 'bad_request']);

/** Finds out who asks, and makes the context of each operation. */
@Injectable()
export class ContextFactory {
  constructor(
    private readonly authenticator: Authenticator,
    private readonly loaders: LoadersFactory,
  ) {}

  /**
   * Throws `unauthenticated` for credentials that do not hold, `rate_limited`, `unavailable`. Somebody known who enters no
   * workspace (a member of none, or of several without saying which) may still ask for `me` and make one.
   */
  async enter(credentials: Credentials): Promise<Entrance> {
    try {
      const principal = await this.authenticator.authenticate(credentials);
      return { identity: principal, entrance: principal };
    } catch (error) {
      if (!(error instanceof AppError) || !undecided.has(error.code)) throw error;
      return { identity: await this.authenticator.identify(credentials), entrance: error };
    }
  }

  /** The same somebody with the rights of now; null when the credentials open nothing any more. */
  async refresh(who: Entrance): Promise<Entrance | null> {
    const { identity, entrance } = who;
    if (identity.expiresAt !== null && identity.expiresAt <= systemClock.now()) return null;
    if (entrance instanceof AppError) return who;
    const principal = await this.authenticator.recheck(entrance);
    if (principal === null || principal.kind === 'system') return null;
    return principal === entrance ? who : { identity: principal, entrance: principal };
  }

  make(
    who: Entrance,
    operation: { readonly requestId: string; readonly close: GraphqlContext['close'] },
  ): GraphqlContext {
    return new GraphqlContext({ ...who, ...operation, makeLoaders: (scope) => this.loaders.make(scope) });
  }
}
