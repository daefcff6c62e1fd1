import { SetMetadata } from '@nestjs/common';

import type { Action } from '#auth';
import type { ScopedSubject } from '#platform';

/** What a route lets its caller do. */
export interface Asked {
  readonly action: Action;
  readonly subject: ScopedSubject;
  /** What somebody without a credential is told, where a contract words it. */
  readonly unauthenticatedText?: string;
}

export const askedKey = 'nightshift:asked';

/**
 * Names the right that a route asks for; `PrincipalGuard` refuses routes without one. The guard can only ask about a kind of
 * row; the row itself is asked about where it is read.
 */
export const Asks = (action: Action, subject: ScopedSubject, words: Pick<Asked, 'unauthenticatedText'> = {}) =>
  SetMetadata(askedKey, { action, subject, ...words } satisfies Asked);
