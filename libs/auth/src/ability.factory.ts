import { accessibleBy } from '@casl/prisma/runtime';

import type { Scope, ScopedSubject } from '#platform';

import {
  type AbilitySubject,
  type Action,
  type AppAbility,
  asSubject,
  defineAbility,
  principalOf,
  type SubjectRow,
} from './abilities.js';
import { forbidden, notFound } from './auth.errors.js';
import { forbiddenReason } from './forbidden-reason.js';
import type { Principal } from './principal.js';

// Principals are frozen, so an ability can be remembered for as long as its principal lives.
const abilities = new WeakMap<Principal, AppAbility>();

/** The ability of a principal, as it was when the principal was made. Cheap to ask again. */
export function abilityOf(principal: Principal): AppAbility {
  const known = abilities.get(principal);
  if (known !== undefined) return known;
  const ability = defineAbility(principal);
  abilities.set(principal, ability);
  return ability;
}

/** Makes the proof that read methods demand. The only maker of `Scope`; holds for the principal as it is now. */
export function scopeOf(principal: Principal): Scope {
  const ability = abilityOf(principal);
  return Object.freeze({
    workspaceId: principal.workspaceId,
    principal: principal.id,
    userId: principal.userId,
    where: (subject: ScopedSubject) => accessibleWhere(ability, subject),
  });
}

/** A question about one row. */
export interface Question<T extends AbilitySubject> {
  readonly action: Action;
  readonly subject: T;
  readonly row: SubjectRow[T];
}

/**
 * Returns if the ability allows it. Else throws `forbidden` to a principal who may at least read the row, and `not_found` to
 * any other, so that absent and forbidden look the same.
 */
export function assertCan<T extends AbilitySubject>(ability: AppAbility, question: Question<T>): void {
  const about = asSubject(question.subject, question.row);
  if (ability.can(question.action, about)) return;
  if (!ability.can('read', about)) throw notFound(question.subject);
  const principal = principalOf(ability);
  throw forbidden(principal === undefined ? undefined : forbiddenReason(principal, question));
}

/**
 * The Prisma `where` of the rows of `subject` on which `ability` allows `action`. Put it first in an `AND`. Without any
 * right it matches nothing, by a condition that needs no help from a client extension (an empty `OR` does, prisma#17367).
 */
function accessibleWhere(ability: AppAbility, subject: ScopedSubject, action: Action = 'read'): object {
  if (ability.rulesFor(action, subject).every((rule) => rule.inverted)) {
    return subject === 'Workspace' ? { id: { in: [] } } : { workspaceId: { in: [] } };
  }
  return accessibleBy(ability, action).ofType(subject);
}
