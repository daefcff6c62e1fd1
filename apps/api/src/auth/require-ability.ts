import { SetMetadata } from '@nestjs/common';

import type { Action } from '#auth';
import type { ScopedSubject } from '#platform';

/** What a route lets its caller do. */
export interface RequiredAbility {
  readonly action: Action;
  readonly subject: ScopedSubject;
  /** What somebody without a credential is told, where a contract words it. */
  readonly unauthenticatedText?: string;
}

export const requiredAbilityKey = 'nightshift:required-ability';

/**
 * Names the right that a route asks for; `PrincipalGuard` refuses routes without one. The guard can only ask about a kind of
 * row; the row itself is asked about where it is read.
 */
export const RequireAbility = (action: Action, subject: ScopedSubject, words: Pick<RequiredAbility, 'unauthenticatedText'> = {}) =>
  SetMetadata(requiredAbilityKey, { action, subject, ...words } satisfies RequiredAbility);
