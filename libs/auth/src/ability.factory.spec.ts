import { describe, expect, it } from '@jest/globals';

import { type DeniedAction, forbiddenReason, refusalOf } from './ability.factory.js';
import { keyPrincipal, type KeyScope, type Role, userPrincipal } from './principal.js';

const workspaceId = 'w';
const user = (role: Role) => userPrincipal({ workspaceId, userId: 'u', role, expiresAt: 0 });
const key = (role: Role, scopes: readonly KeyScope[]) =>
  keyPrincipal({ keyId: 'k', prefix: 'p', workspaceId, userId: 'u', role, scopes, expiresAt: null });
const agent: DeniedAction = { action: 'create', subject: 'Agent', row: { workspaceId } };
const invitation: DeniedAction = { action: 'create', subject: 'Invitation', row: { workspaceId, role: 'admin' } };
const roles: DeniedAction = {
  action: 'change',
  subject: 'Membership',
  row: { workspaceId, userId: 'x', role: 'member' },
};

describe('forbiddenReason', () => {
  it.each([
    [key('owner', ['read', 'write']), agent, 'This API key cannot create agents: it lacks the scope "admin".'],
    [user('member'), agent, 'The role "member" cannot create agents. Ask an owner or admin of the workspace.'],
    [
      key('owner', ['read', 'write', 'admin']),
      invitation,
      'API keys cannot invite a member with the role "admin". Sign in as an owner or admin.',
    ],
    [key('admin', ['read', 'admin']), roles, 'API keys cannot change roles. Sign in as an owner or admin.'],
    [key('member', ['read']), roles, 'The role "member" cannot change roles. Ask an owner or admin of the workspace.'],
  ])('names the scope, the token or the role that is missing: %j', (principal, denied, reason) => {
    expect(forbiddenReason(principal, denied)).toBe(reason);
  });
});

describe('refusalOf', () => {
  it.each([
    [user('member'), { action: 'cancel', subject: 'Job' }, null],
    [
      user('viewer'),
      { action: 'cancel', subject: 'Job' },
      'The role "viewer" cannot cancel jobs of other users. Ask an owner or admin of the workspace.',
    ],
    [
      key('member', ['read']),
      { action: 'cancel', subject: 'Job' },
      'This API key cannot cancel jobs of other users: it lacks the scope "write".',
    ],
    [
      key('member', ['read']),
      { action: 'create', subject: 'Job' },
      'This API key cannot create jobs: it lacks the scope "write".',
    ],
    [
      user('viewer'),
      { action: 'create', subject: 'Thread' },
      'The role "viewer" cannot create this thread. Ask an owner, admin or member of the workspace.',
    ],
    [key('owner', ['read']), { action: 'change', subject: 'Workspace' }, 'Workspace not found or unauthorized'],
    [
      key('owner', ['admin']),
      { action: 'manage', subject: 'Membership' },
      'API keys cannot change roles. Sign in as an owner or admin.',
    ],
  ] as const)('is forbidden to readers and not_found to others: %j %j', (principal, asked, message) => {
    expect(refusalOf(principal, asked)?.message ?? null).toBe(message);
  });
});
