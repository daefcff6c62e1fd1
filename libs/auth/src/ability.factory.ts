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
import { KEY_SCOPES, type Principal, type Role, ROLES, userPrincipal } from './principal.js';

/** What a principal was not allowed to do. */
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

/** States why the principal may not do this, and who may: a scope, a token in place of a key, or another role. */
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
  return `${verbs[action]} ${plurals[subject]}`;
}

/** Such as `an owner or admin`. */
function oneOf(roles: readonly Role[]): string {
  const article = /^[aeiou]/.test(roles[0] ?? '') ? 'an' : 'a';
  return `${article} ${roles.join(', ').replace(/, (\w+)$/, ' or $1')}`;
}

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
