import { SetMetadata } from '@nestjs/common';

import type { AppError } from '#platform';

import type { AbilitySubject, Action } from '../abilities.js';

/** The errors of an endpoint, where the usual ones do not fit. */
export interface RefusalWords {
  /** The message for a caller without a credential, if a contract fixes its wording. */
  readonly unauthenticatedText?: string;
  /**
   * The error for a caller who may not read the kind of rows either: the one of an absent row. `handler`: the handler runs and reports it,
   * because its response is no error.
   */
  readonly absent?: (() => AppError) | 'handler';
  /** The error for a caller who may read the kind of rows, but lacks the action. */
  readonly refused?: () => AppError;
}

/** The right that an endpoint requires. */
export interface RequiredAbility extends RefusalWords {
  readonly action: Action;
  readonly subject: AbilitySubject;
}

export const requiredAbilityKey = 'nightshift:required-ability';

/**
 * Declares the right that an endpoint requires. `PrincipalGuard` (REST) and `ResolverGuard` (GraphQL) refuse callers without it, and every
 * endpoint without a declaration. They check the kind of row; the row itself is checked where it is read.
 */
export const RequireAbility = (action: Action, subject: AbilitySubject, words: RefusalWords = {}) =>
  SetMetadata(requiredAbilityKey, { action, subject, ...words } satisfies RequiredAbility);

export const requiredAuthenticationKey = 'nightshift:required-authentication';

/**
 * For endpoints about the callers themselves (their profile, their invitations, any row by its global id): every authenticated caller may use
 * them.
 */
export const RequireAuthentication = () => SetMetadata(requiredAuthenticationKey, true);

export const publicKey = 'nightshift:public';

/** For endpoints without authentication. */
export const Public = () => SetMetadata(publicKey, true);

export const ownBodyKey = 'nightshift:own-body';

/** For routes that read the body themselves, in any content type (`readRawBody`). */
export const ReadsOwnBody = () => SetMetadata(ownBodyKey, true);
