import { SetMetadata } from '@nestjs/common';

import type { AbilitySubject, Action } from '../abilities.js';

/** The right that a route requires. */
export interface RequiredAbility {
  readonly action: Action;
  readonly subject: AbilitySubject;
  /** The message for a caller without a credential, if a contract fixes its wording. */
  readonly unauthenticatedText?: string;
}

export const requiredAbilityKey = 'nightshift:required-ability';

/**
 * Declares the right that a route requires; `PrincipalGuard` refuses routes without one. The guard checks only the kind of row; the row
 * itself is checked where it is read.
 */
export const RequireAbility = (
  action: Action,
  subject: AbilitySubject,
  words: Pick<RequiredAbility, 'unauthenticatedText'> = {},
) => SetMetadata(requiredAbilityKey, { action, subject, ...words } satisfies RequiredAbility);

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
