import { accessibleBy } from '@casl/prisma/runtime';

import type { ScopedSubject } from '#platform';

import type { Action, AppAbility } from './abilities.js';

/**
 * The Prisma `where` of the rows of `subject` on which `ability` allows `action`. Put it first in an `AND`. Without any
 * right it matches nothing, by a condition that needs no help from a client extension (an empty `OR` does, prisma#17367).
 */
export function accessibleWhere(ability: AppAbility, subject: ScopedSubject, action: Action = 'read'): object {
  if (ability.rulesFor(action, subject).every((rule) => rule.inverted)) {
    return subject === 'Workspace' ? { id: { in: [] } } : { workspaceId: { in: [] } };
  }
  return accessibleBy(ability, action).ofType(subject);
}
