import { describe, expect, it } from '@jest/globals';

import { newId } from '#platform';

import type { Action, SubjectRow } from './abilities.js';
import { abilityOf, assertCan, scopeOf } from './ability.factory.js';
import {
  KEY_SCOPES,
  keyPrincipal,
  type KeyScope,
  type Principal,
  type Role,
  ROLES,
  systemPrincipal,
  userPrincipal,
} from './principal.js';

const here = newId();
const elsewhere = newId();
const me = newId();
const other = newId();

const as = (role: Role) => userPrincipal({ workspaceId: here, userId: me, role, expiresAt: 1 });
const withKey = (role: Role, ...scopes: KeyScope[]) =>
  keyPrincipal({ keyId: newId(), prefix: 'p', workspaceId: here, userId: me, role, scopes, expiresAt: null });

function may<T extends keyof SubjectRow>(
  who: Principal,
  action: Action,
  about: { type: T; row: SubjectRow[T] },
): boolean {
  try {
    assertCan(abilityOf(who), { action, subject: about.type, row: about.row });
    return true;
  } catch {
    return false;
  }
}

const thread = (workspaceId: string, createdBy: string) => ({
  type: 'Thread' as const,
  row: { workspaceId, createdBy },
});
const job = (workspaceId: string, createdBy: string | null) => ({
  type: 'Job' as const,
  row: { workspaceId, createdBy },
});
const member = (workspaceId: string, role: Role, userId = other) => ({
  type: 'Membership' as const,
  row: { workspaceId, userId, role },
});
const invitation = (workspaceId: string, role: Role) => ({
  type: 'Invitation' as const,
  row: { workspaceId, role },
});
const key = (workspaceId: string, userId: string) => ({ type: 'ApiKey' as const, row: { workspaceId, userId } });
const call = (workspaceId: string, createdBy: string | null) => ({
  type: 'ToolCall' as const,
  row: { workspaceId, createdBy },
});
const channel = (workspaceId: string, userId: string | null) => ({
  type: 'NotificationChannel' as const,
  row: { workspaceId, userId },
});
const workspace = (id: string) => ({ type: 'Workspace' as const, row: { id } });
const plain = (
  type:
    | 'Message'
    | 'ToolCall'
    | 'ModelProvider'
    | 'WorkspaceTool'
    | 'WorkspaceSecret'
    | 'WebhookEndpoint'
    | 'McpServer'
    | 'SyntrixConnection'
    | 'Workflow'
    | 'Agent',
  workspaceId: string,
) => ({ type, row: { workspaceId } });

/** Who may do it: the roles, of four. */
function rolesThatMay<T extends keyof SubjectRow>(action: Action, about: { type: T; row: SubjectRow[T] }): Role[] {
  return ROLES.filter((role) => may(as(role), action, about));
}

describe('the rights of a role', () => {
  it.each<[string, Role[], Role[]]>([
    ['reads the work of the workspace', rolesThatMay('read', thread(here, other)), [...ROLES]],
    ['reads jobs of others', rolesThatMay('read', job(here, other)), [...ROLES]],
    ['reads jobs without a requester', rolesThatMay('read', job(here, null)), [...ROLES]],
    ['reads messages', rolesThatMay('read', plain('Message', here)), [...ROLES]],
    ['reads tool calls', rolesThatMay('read', plain('ToolCall', here)), [...ROLES]],
    ['creates threads', rolesThatMay('create', thread(here, me)), ['owner', 'admin', 'member']],
    ['creates threads in the name of others', rolesThatMay('create', thread(here, other)), []],
    ['creates jobs', rolesThatMay('create', job(here, me)), ['owner', 'admin', 'member']],
    ['cancels its own job', rolesThatMay('cancel', job(here, me)), ['owner', 'admin', 'member']],
    ['retries its own job', rolesThatMay('retry', job(here, me)), ['owner', 'admin', 'member']],
    ['renames its own thread', rolesThatMay('rename', thread(here, me)), ['owner', 'admin', 'member']],
    ['cancels the job of another', rolesThatMay('cancel', job(here, other)), ['owner', 'admin']],
    ['cancels a job without a requester', rolesThatMay('cancel', job(here, null)), ['owner', 'admin']],
    ['renames the thread of another', rolesThatMay('rename', thread(here, other)), ['owner', 'admin']],
    ['chats in its own thread', rolesThatMay('chat', thread(here, me)), ['owner', 'admin', 'member']],
    ['chats in the thread of another', rolesThatMay('chat', thread(here, other)), []],
    ['approves', rolesThatMay('approve', plain('ToolCall', here)), ['owner', 'admin']],
    ['approves calls of its own jobs', rolesThatMay('approve', call(here, me)), ['owner', 'admin', 'member']],
    ['approves calls of the jobs of others', rolesThatMay('approve', call(here, other)), ['owner', 'admin']],
    ['approves calls of a job without a requester', rolesThatMay('approve', call(here, null)), ['owner', 'admin']],
    ['looks through the calls of its own jobs', rolesThatMay('survey', call(here, me)), [...ROLES]],
    ['looks through the calls of others', rolesThatMay('survey', call(here, other)), ['owner', 'admin']],
    ['looks through all calls', rolesThatMay('survey', plain('ToolCall', here)), ['owner', 'admin']],
    ['makes keys of its own', rolesThatMay('create', key(here, me)), ['owner', 'admin', 'member']],
    ['makes keys that act as another', rolesThatMay('create', key(here, other)), []],
    ['revokes its own key', rolesThatMay('delete', key(here, me)), ['owner', 'admin', 'member']],
    ['revokes the key of another', rolesThatMay('delete', key(here, other)), ['owner', 'admin']],
    ['reads the keys of others', rolesThatMay('read', key(here, other)), ['owner', 'admin']],
    ['manages providers', rolesThatMay('manage', plain('ModelProvider', here)), ['owner', 'admin']],
    ['manages tools', rolesThatMay('manage', plain('WorkspaceTool', here)), ['owner', 'admin']],
    ['reads how tools are made', rolesThatMay('read', plain('WorkspaceTool', here)), ['owner', 'admin']],
    ['manages webhook endpoints', rolesThatMay('manage', plain('WebhookEndpoint', here)), ['owner', 'admin']],
    ['changes its own notification channels', rolesThatMay('change', channel(here, me)), [...ROLES]],
    ['reads the channels of another', rolesThatMay('read', channel(here, other)), []],
    ['manages the channels of the workspace', rolesThatMay('manage', channel(here, null)), ['owner', 'admin']],
    ['manages secrets', rolesThatMay('manage', plain('WorkspaceSecret', here)), ['owner', 'admin']],
    ['reads names of secrets', rolesThatMay('read', plain('WorkspaceSecret', here)), ['owner', 'admin']],
    ['manages MCP servers', rolesThatMay('manage', plain('McpServer', here)), ['owner', 'admin']],
    ['reads names of MCP servers', rolesThatMay('read', plain('McpServer', here)), [...ROLES]],
    ['manages Syntrix connections', rolesThatMay('manage', plain('SyntrixConnection', here)), ['owner', 'admin']],
    ['reads Syntrix connections', rolesThatMay('read', plain('SyntrixConnection', here)), ['owner', 'admin']],
    ['reads workflows', rolesThatMay('read', plain('Workflow', here)), [...ROLES]],
    ['makes workflows', rolesThatMay('create', plain('Workflow', here)), ['owner', 'admin', 'member']],
    ['saves drafts of workflows', rolesThatMay('change', plain('Workflow', here)), ['owner', 'admin', 'member']],
    ['publishes and deletes workflows', rolesThatMay('manage', plain('Workflow', here)), ['owner', 'admin']],
    ['reads agents', rolesThatMay('read', plain('Agent', here)), [...ROLES]],
    ['changes agents', rolesThatMay('manage', plain('Agent', here)), ['owner', 'admin']],
    ['reads members', rolesThatMay('read', member(here, 'owner')), ['owner', 'admin']],
    ['manages members below owner', rolesThatMay('manage', member(here, 'admin')), ['owner', 'admin']],
    ['touches owners', rolesThatMay('change', member(here, 'owner')), ['owner']],
    ['removes owners', rolesThatMay('delete', member(here, 'owner')), ['owner']],
    ['raises itself to owner', rolesThatMay('change', member(here, 'owner', me)), ['owner']],
    ['reads invitations', rolesThatMay('read', invitation(here, 'owner')), ['owner', 'admin']],
    ['invites below owner', rolesThatMay('create', invitation(here, 'admin')), ['owner', 'admin']],
    ['invites owners', rolesThatMay('create', invitation(here, 'owner')), ['owner']],
    ['revokes invitations of owners', rolesThatMay('delete', invitation(here, 'owner')), ['owner']],
    ['changes settings', rolesThatMay('change', workspace(here)), ['owner', 'admin']],
    ['deletes the workspace', rolesThatMay('delete', workspace(here)), ['owner']],
  ])('%s', (_fact, found, expected) => {
    expect(found).toEqual(expected);
  });

  it('never include a row of another workspace, for any role and action', () => {
    const verbs: Action[] = [
      'read',
      'create',
      'change',
      'cancel',
      'retry',
      'rename',
      'chat',
      'delete',
      'approve',
      'survey',
      'manage',
    ];
    const found = verbs.flatMap((verb) => [
      ...rolesThatMay(verb, thread(elsewhere, me)),
      ...rolesThatMay(verb, job(elsewhere, me)),
      ...rolesThatMay(verb, member(elsewhere, 'viewer')),
      ...rolesThatMay(verb, invitation(elsewhere, 'viewer')),
      ...rolesThatMay(verb, key(elsewhere, me)),
      ...rolesThatMay(verb, channel(elsewhere, me)),
      ...rolesThatMay(verb, channel(elsewhere, null)),
      ...rolesThatMay(verb, workspace(elsewhere)),
      ...rolesThatMay(verb, plain('Message', elsewhere)),
      ...rolesThatMay(verb, plain('ToolCall', elsewhere)),
      ...rolesThatMay(verb, call(elsewhere, me)),
      ...rolesThatMay(verb, plain('ModelProvider', elsewhere)),
      ...rolesThatMay(verb, plain('WorkspaceTool', elsewhere)),
      ...rolesThatMay(verb, plain('WorkspaceSecret', elsewhere)),
      ...rolesThatMay(verb, plain('WebhookEndpoint', elsewhere)),
      ...rolesThatMay(verb, plain('McpServer', elsewhere)),
      ...rolesThatMay(verb, plain('SyntrixConnection', elsewhere)),
      ...rolesThatMay(verb, plain('Workflow', elsewhere)),
      ...rolesThatMay(verb, plain('Agent', elsewhere)),
    ]);
    expect(found).toEqual([]);
  });

  it('allow the system principal to work, but not to decide', () => {
    const system = systemPrincipal(here);
    expect(may(system, 'read', thread(here, other))).toBe(true);
    expect(may(system, 'cancel', job(here, other))).toBe(true);
    expect(may(system, 'approve', plain('ToolCall', here))).toBe(false);
    expect(may(system, 'chat', thread(here, other))).toBe(false);
    expect(may(system, 'read', key(here, other))).toBe(false);
    expect(may(system, 'read', thread(elsewhere, other))).toBe(false);
  });
});

describe('the rights of an API key', () => {
  it('include reading only with the scope read', () => {
    expect(may(withKey('owner', 'read'), 'read', job(here, other))).toBe(true);
    expect(may(withKey('owner', 'write', 'admin', 'approve'), 'read', job(here, other))).toBe(false);
  });

  it('include writing only with the scope write', () => {
    expect(may(withKey('owner', 'write'), 'cancel', job(here, other))).toBe(true);
    expect(may(withKey('owner', 'write'), 'chat', thread(here, me))).toBe(true);
    expect(may(withKey('owner', 'read', 'admin', 'approve'), 'create', job(here, me))).toBe(false);
  });

  it('include administration only with the scope admin', () => {
    expect(may(withKey('owner', 'admin'), 'delete', workspace(here))).toBe(true);
    expect(may(withKey('owner', 'read', 'write', 'approve'), 'create', key(here, me))).toBe(false);
    expect(may(withKey('owner', 'read', 'write', 'approve'), 'read', member(here, 'viewer'))).toBe(false);
  });

  it('include approval only with the scope approve', () => {
    expect(may(withKey('admin', 'approve'), 'approve', plain('ToolCall', here))).toBe(true);
    expect(may(withKey('member', 'approve'), 'approve', call(here, me))).toBe(true);
    expect(may(withKey('member', 'read', 'write', 'admin'), 'approve', call(here, me))).toBe(false);
    expect(may(withKey('admin', 'read', 'write', 'admin'), 'approve', plain('ToolCall', here))).toBe(false);
  });

  it('include the calls of other users only with the scope admin', () => {
    expect(may(withKey('admin', 'admin'), 'survey', call(here, other))).toBe(true);
    expect(may(withKey('admin', 'read', 'write', 'approve'), 'survey', call(here, other))).toBe(false);
    expect(may(withKey('admin', 'read'), 'survey', call(here, me))).toBe(true);
  });

  it('never exceed the rights of the role', () => {
    for (const role of ROLES) {
      const { rules } = abilityOf(as(role));
      for (const rule of abilityOf(withKey(role, ...KEY_SCOPES)).rules) expect(rules).toContainEqual(rule);
    }
    expect(abilityOf(withKey('owner')).rules).toEqual([]);
  });

  it.each(['owner', 'admin'] as const)(
    'let no key of an %s change roles, or invite or remove owners and admins',
    (role) => {
      const all = withKey(role, ...KEY_SCOPES);
      const about = (other: Role) => [member(here, other), invitation(here, other)];
      const found = ROLES.flatMap((other) =>
        about(other).flatMap((row) =>
          (['create', 'change', 'delete'] as const)
            .filter((verb) => may(all, verb, row))
            .map((verb) => `${verb} ${row.type} ${other}`),
        ),
      );
      expect(found).toEqual([
        'delete Membership member',
        'create Invitation member',
        'delete Invitation member',
        'delete Membership viewer',
        'create Invitation viewer',
        'delete Invitation viewer',
      ]);
    },
  );

  it('let no key revoke the keys of other users', () => {
    expect(may(withKey('owner', ...KEY_SCOPES), 'delete', key(here, other))).toBe(false);
    expect(may(withKey('owner', ...KEY_SCOPES), 'delete', key(here, me))).toBe(true);
  });
});

describe('a scope', () => {
  it('names workspace, principal and user', () => {
    const principal = withKey('member', 'read');
    expect(scopeOf(principal)).toMatchObject({ workspaceId: here, principal: principal.id, userId: me });
    expect(scopeOf(systemPrincipal(here))).toMatchObject({ workspaceId: here, principal: 'system', userId: null });
  });

  it('matches nothing without a right', () => {
    expect(scopeOf(withKey('owner')).where('Job')).toEqual({ workspaceId: { in: [] } });
    expect(scopeOf(as('viewer')).where('Workspace')).toEqual({ id: { in: [] } });
  });

  it('uses the same ability as can()', () => {
    const principal = as('member');
    expect(abilityOf(principal)).toBe(abilityOf(principal));
    expect(scopeOf(principal).where('ApiKey')).toEqual({ OR: [{ workspaceId: here, userId: me }] });
  });
});
