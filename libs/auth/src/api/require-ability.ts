import { SetMetadata } from '@nestjs/common';

import type { AbilitySubject, Action } from '../abilities.js';

/** What a route lets its caller do. */
export interface RequiredAbility {
  readonly action: Action;
  readonly subject: AbilitySubject;
  /** The message for a caller without a credential, where a contract fixes its wording. */
  readonly unauthenticatedText?: string;
}

export const requiredAbilityKey = 'nightshift:required-ability';

/**
 * Names the right that a route asks for; `PrincipalGuard` refuses routes without one. The guard can only ask about a kind of
 * row; the row itself is asked about where it is read.
 */
export const RequireAbility = (
  action: Action,
  subject: AbilitySubject,
  words: Pick<RequiredAbility, 'unauthenticatedText'> = {},
) => SetMetadata(requiredAbilityKey, { action, subject, ...words } satisfies RequiredAbility);

export const requiredAuthenticationKey = 'nightshift:required-authentication';

/** For endpoints of the callers themselves (their profile, invitations, any row by its global id): every signed-in caller. */
export const RequireAuthentication = () => SetMetadata(requiredAuthenticationKey, true);

export const publicKey = 'nightshift:public';

/** For endpoints that ask for no credential. */
export const Public = () => SetMetadata(publicKey, true);

export const ownBodyKey = 'nightshift:own-body';

/** For routes that read a body of any content type themselves (`readRawBody`). */
export const ReadsOwnBody = () => SetMetadata(ownBodyKey, true);
