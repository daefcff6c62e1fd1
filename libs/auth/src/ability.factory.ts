import { accessibleBy } from '@casl/prisma/runtime';

import type { AppError, Scope, ScopedSubject } from '#platform';

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
import { KEY_SCOPES, type Principal, type Role, ROLES, userPrincipal } from './principal.js';

/** An action that a principal was denied. */
export interface DeniedAction<T extends AbilitySubject = AbilitySubject> {
  readonly action: Action;
  readonly subject: T;
  readonly row: SubjectRow[T];
}

const plurals: Readonly<Record<AbilitySubject, string>> = {
  Workspace: 'this workspace',
  Membership: 'memberships',
  Invitation: 'invitations',
  ApiKey: 'API keys of this user',
  ModelProvider: 'model providers',
  WorkspaceTool: 'tools',
  McpServer: 'MCP servers',
  StoredFile: 'files',
  SyntrixConnection: 'Syntrix connections',
  Workflow: 'workflows',
  Agent: 'agents',
  Trigger: 'triggers',
  Schedule: 'schedules of other users',
  WorkspaceSecret: 'secrets',
  WebhookEndpoint: 'webhook endpoints',
  Thread: 'this thread',
  Message: 'messages',
  Job: 'jobs of other users',
  ToolCall: 'tool calls of other users',
  Interrupt: 'requests of other users',
  Notification: 'notifications of other users',
  NotificationChannel: 'notification channels of other users or of the workspace',
  AuditEntry: 'the audit',
  FeatureFlag: 'feature flags',
  Tool: 'tools',
};

const verbs: Readonly<Record<Action, string>> = {
  read: 'read',
  create: 'create',
  change: 'change',
  cancel: 'cancel',
  retry: 'retry',
  rename: 'rename',
  chat: 'continue',
  delete: 'delete',
  approve: 'decide about',
  survey: 'list',
  publish: 'send changes to',
  manage: 'manage',
};

/** The sentence that explains why the principal may not do this, and who may: a key with another scope, a token, or another role. */
export function forbiddenReason<T extends AbilitySubject>(principal: Principal, denied: DeniedAction<T>): string {
  if (principal.role === null) return 'Forbidden';
  const { workspaceId, userId, role } = principal;
  const what = phraseOf(denied);
  const isAllowed = (other: Principal) =>
    defineAbility(other).can(denied.action, asSubject(denied.subject, denied.row));
  const roles = ROLES.filter((one) => isAllowed(userPrincipal({ workspaceId, userId, role: one, expiresAt: 0 })));
  if (principal.kind === 'key' && isAllowed({ ...principal, scopes: KEY_SCOPES })) {
    const scope = KEY_SCOPES.find((one) => isAllowed({ ...principal, scopes: [...principal.scopes, one] }));
    return `This API key cannot ${what}: it lacks ${scope === undefined ? 'scopes' : `the scope "${scope}"`}.`;
  }
  if (roles.length === 0) return 'Forbidden';
  if (principal.kind === 'key' && roles.includes(role)) return `API keys cannot ${what}. Sign in as ${oneOf(roles)}.`;
  return `The role "${role}" cannot ${what}. Ask ${oneOf(roles)} of the workspace.`;
}

function phraseOf({ action, subject, row }: DeniedAction): string {
  const role = 'role' in row ? row.role : '';
  if (subject === 'Invitation')
    return `${action === 'delete' ? 'revoke an invitation' : 'invite a member'} with the role "${role}"`;
  if (subject === 'Membership') return action === 'delete' ? `remove a member with the role "${role}"` : 'change roles';
  const objects = plurals[subject];
  return `${verbs[action]} ${action === 'create' ? objects.replace(/ of other users$/, '') : objects}`;
}

/**
 * The error for a principal who may do this to no row of the subject: `forbidden` if it may read some of them, else `not_found`, as
 * `assertCan` decides about one row. Null: it may do this to some rows.
 */
export function refusalOf(
  principal: Principal,
  { action, subject }: Pick<DeniedAction, 'action' | 'subject'>,
): AppError | null {
  const ability = abilityOf(principal);
  if (ability.can(action, subject)) return null;
  if (!ability.can('read', subject)) return notFound(subject);
  return forbidden(forbiddenReason(principal, { action, subject, row: exampleRow(principal, { action, subject }) }));
}

/** A row that explains a refusal: of another user, or of the principal if only those may ever be changed. */
function exampleRow(principal: Principal, { action, subject }: Pick<DeniedAction, 'action' | 'subject'>) {
  const { workspaceId, userId, kind } = principal;
  const rowOf = (id: string) => ({
    ...{ id: workspaceId, workspaceId, userId: id, createdBy: id, requester: id },
    role: 'member',
  });
  const others = rowOf('');
  if (userId === null) return others;
  const own = rowOf(userId);
  const isOnlyForOwn = (who: Principal) => {
    const ability = defineAbility(who);
    return ability.can(action, asSubject(subject, own)) && !ability.can(action, asSubject(subject, others));
  };
  const owner = userPrincipal({ workspaceId, userId, role: 'owner', expiresAt: 0 });
  const unlimited = kind === 'key' ? { ...principal, scopes: KEY_SCOPES } : principal;
  return isOnlyForOwn(owner) || isOnlyForOwn(unlimited) ? own : others;
}

/** The list of roles as text, such as `an owner or admin`. */
function oneOf(roles: readonly Role[]): string {
  const article = /^[aeiou]/.test(roles[0] ?? '') ? 'an' : 'a';
  return `${article} ${roles.join(', ').replace(/, (\w+)$/, ' or $1')}`;
}

// Principals are frozen, so their abilities can be cached as long as the principals exist.
const abilities = new WeakMap<Principal, AppAbility>();

/** The ability of a principal. Cached, so repeated calls are cheap. */
export function abilityOf(principal: Principal): AppAbility {
  const known = abilities.get(principal);
  if (known !== undefined) return known;
  const ability = defineAbility(principal);
  abilities.set(principal, ability);
  return ability;
}

/** Creates the `Scope` that read methods require. No other function creates one. It applies to the principal as it is now. */
export function scopeOf(principal: Principal): Scope {
  const ability = abilityOf(principal);
  return Object.freeze({
    workspaceId: principal.workspaceId,
    principal: principal.id,
    userId: principal.userId,
    where: (subject: ScopedSubject) => accessibleWhere(ability, subject),
  });
}

/** A check of one row. */
export interface Question<T extends AbilitySubject> {
  readonly action: Action;
  readonly subject: T;
  readonly row: SubjectRow[T];
}

/**
 * Returns if the ability allows the action. Otherwise throws `forbidden` if the principal may read the row, else `not_found`, so that an
 * absent row and a forbidden one give the same error.
 */
export function assertCan<T extends AbilitySubject>(ability: AppAbility, question: Question<T>): void {
  const about = asSubject(question.subject, question.row);
  if (ability.can(question.action, about)) return;
  if (!ability.can('read', about)) throw notFound(question.subject);
  const principal = principalOf(ability);
  throw forbidden(principal === undefined ? undefined : forbiddenReason(principal, question));
}

/**
 * The Prisma `where` of the rows of `subject` on which `ability` allows `action`. Put it first in an `AND`. Without any right it matches no
 * row, and needs no client extension for that (an empty `OR` would, prisma#17367).
 */
function accessibleWhere(ability: AppAbility, subject: ScopedSubject, action: Action = 'read'): object {
  if (ability.rulesFor(action, subject).every((rule) => rule.inverted)) {
    return subject === 'Workspace' ? { id: { in: [] } } : { workspaceId: { in: [] } };
  }
  return accessibleBy(ability, action).ofType(subject);
}
