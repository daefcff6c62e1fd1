import { describe, expect, it } from '@jest/globals';

import { type KeyScope, type Principal, type Role, ROLES, systemPrincipal } from '#auth';
import { newId } from '#platform';

import { type DecidableRequest, mayDecide } from './may-decide.js';

const here = newId();
const requester = newId();
const otherUser = newId();

function user(role: Role, userId = otherUser, workspaceId = here): Principal {
  const scopes: readonly KeyScope[] = ['read', 'write', 'admin', 'approve'];
  return { kind: 'user', id: `user:${userId}`, workspaceId, userId, role, scopes, expiresAt: 1 };
}

function key(role: Role, scopes: readonly KeyScope[], userId = requester): Principal {
  return { kind: 'key', id: 'key:1', prefix: 'p', workspaceId: here, userId, role, scopes, expiresAt: null };
}

function request(over: Partial<DecidableRequest> = {}): DecidableRequest {
  return {
    workspaceId: here,
    decidableBy: 'requester',
    fourEyes: false,
    adminRequired: false,
    requester,
    jobCreatedBy: requester,
    ...over,
  };
}

/** Who of the workspace may: the requester by role, then everybody else by role. */
function deciders(over: Partial<DecidableRequest>): { readonly requester: Role[]; readonly others: Role[] } {
  return {
    requester: ROLES.filter((role) => mayDecide(user(role, requester), request(over))),
    others: ROLES.filter((role) => mayDecide(user(role), request(over))),
  };
}

const admins: Role[] = ['owner', 'admin'];
const members: Role[] = ['owner', 'admin', 'member'];

describe('who may decide a request', () => {
  it.each<[string, Partial<DecidableRequest>, { requester: Role[]; others: Role[] }]>([
    ['requester: only the requester', {}, { requester: members, others: [] }],
    ['approvers: owners and admins', { decidableBy: 'approvers' }, { requester: admins, others: admins }],
    [
      'members: every member who may change the job',
      { decidableBy: 'members' },
      { requester: members, others: admins },
    ],
    ['four eyes, requester: no member', { fourEyes: true }, { requester: [], others: [] }],
    [
      'four eyes, approvers: not the requester',
      { decidableBy: 'approvers', fourEyes: true },
      { requester: [], others: admins },
    ],
    [
      'four eyes, members: not the requester',
      { decidableBy: 'members', fourEyes: true },
      { requester: [], others: admins },
    ],
    ['an admin is required', { adminRequired: true }, { requester: admins, others: admins }],
    [
      'an admin is required, of members',
      { decidableBy: 'members', adminRequired: true },
      { requester: admins, others: admins },
    ],
    ['no requester: approvers', { requester: null, jobCreatedBy: null }, { requester: admins, others: admins }],
    [
      'no requester, four eyes',
      { requester: null, jobCreatedBy: null, fourEyes: true },
      { requester: admins, others: admins },
    ],
    [
      'no requester, members',
      { decidableBy: 'members', requester: null, jobCreatedBy: null },
      { requester: admins, others: admins },
    ],
  ])('%s', (_fact, over, expected) => {
    expect(deciders(over)).toEqual(expected);
  });

  it('excludes the system principal', () => {
    for (const decidableBy of ['requester', 'approvers', 'members'] as const)
      expect(mayDecide(systemPrincipal(here), request({ decidableBy, requester: null }))).toBe(false);
  });

  it('denies every principal of another workspace', () => {
    for (const decidableBy of ['requester', 'approvers', 'members'] as const)
      expect(mayDecide(user('owner', requester, newId()), request({ decidableBy }))).toBe(false);
  });

  it('includes a key of the person only with the scope approve', () => {
    expect(mayDecide(key('member', ['approve']), request())).toBe(true);
    expect(mayDecide(key('member', ['read', 'write', 'admin']), request())).toBe(false);
    expect(mayDecide(key('member', ['approve'], otherUser), request())).toBe(false);
    expect(mayDecide(key('admin', ['approve'], otherUser), request({ decidableBy: 'approvers' }))).toBe(true);
    expect(mayDecide(key('owner', ['approve']), request({ decidableBy: 'approvers', fourEyes: true }))).toBe(false);
    expect(mayDecide(key('viewer', ['approve']), request())).toBe(false);
  });
});
