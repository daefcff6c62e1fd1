import { type AbilitySubject, type Action, asSubject, defineAbility, type SubjectRow } from './abilities.js';
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
