import { randomBytes } from 'node:crypto';

import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';

import { newId } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { HintBus, openTestIdentities, type TestIdentities } from '../../../../test/harness/identities.js';
import { IdentityRepository } from '../identity.repository.js';
import type { KeyScope, MemberPrincipal, Role } from '../principal.js';

let database: TestDatabase;
let identities: TestIdentities;
let world: Record<Role, MemberPrincipal>;
let other: Record<Role, MemberPrincipal>;
let serial = 0;

beforeAll(async () => {
  database = await createTestDatabase();
});
beforeEach(async () => {
  identities = openTestIdentities(database);
  serial += 1;
  world = await identities.workspaceOf(`here${serial}`);
  other = await identities.workspaceOf(`there${serial}`);
});
afterAll(() => database.close());

const authenticate = (authorization?: string, workspaceId?: string) =>
  identities.auth.authenticator.authenticate({ authorization, workspaceId });
const newKey = (principal: MemberPrincipal, options: { scopes?: KeyScope[]; expiresAt?: number } = {}) =>
  identities.auth.apiKeys.create(principal, {
    name: 'a key',
    scopes: options.scopes ?? ['read'],
    expiresAt: options.expiresAt,
  });
const refused = { code: 'unauthenticated', message: 'Authentication required' };
const hidden = { code: 'not_found', message: 'Workspace not found or unauthorized', field: 'workspaceId' };
const wrongSecret = (text: string) => text.slice(0, -43) + 'A'.repeat(43);

describe('the authenticator rejects', () => {
  it.each([
    undefined,
    '',
    'Bearer',
    'Bearer ',
    'Basic dXNlcjpwYXNz',
    'Bearer two words',
    'Bearer nsk_',
    'Bearer x.y.z',
    'nsk_no_scheme',
    'Bearer \u0000',
  ])('the credential %j', async (authorization) => {
    await expect(authenticate(authorization)).rejects.toMatchObject(refused);
    await expect(identities.auth.authenticator.identify({ authorization })).rejects.toMatchObject(refused);
  });

  it('an unknown key', async () => {
    await expect(authenticate(`Bearer nsk_${'a'.repeat(12)}_${'a'.repeat(43)}`)).rejects.toMatchObject(refused);
  });

  it('a wrong secret after a valid prefix', async () => {
    const { text } = await newKey(world.owner);
    await expect(authenticate(`Bearer ${wrongSecret(text)}`)).rejects.toMatchObject(refused);
  });

  it('an expired key', async () => {
    const { text } = await newKey(world.owner, { expiresAt: identities.clock.now() + 500 });
    await expect(authenticate(`Bearer ${text}`)).resolves.toMatchObject({ kind: 'key' });
    identities.clock.advance(500);
    await expect(authenticate(`Bearer ${text}`)).rejects.toMatchObject(refused);
  });

  it('an expired token, cached or not', async () => {
    const exp = Math.floor(identities.clock.now() / 1_000) + 1;
    const authorization = await identities.bearer(`here${serial}-member`, { exp });
    const principal = await authenticate(authorization);
    expect(principal.expiresAt).toBe(exp * 1_000);
    identities.clock.advance(exp * 1_000 - identities.clock.now());
    await expect(authenticate(authorization)).rejects.toMatchObject(refused);
    expect(await identities.auth.authenticator.recheck(principal)).toBeNull();
  });

  it('a token of another issuer', async () => {
    const authorization = await identities.bearer(`here${serial}-member`, { iss: 'https://evil.example' });
    await expect(authenticate(authorization)).rejects.toMatchObject(refused);
  });
});

describe('an API key', () => {
  it('acts as its user in its workspace, narrowed by its scopes', async () => {
    const { text, key } = await newKey(world.member, { scopes: ['read', 'write'] });
    const principal = await authenticate(`bearer ${text}`, world.member.workspaceId.toUpperCase());
    const { workspaceId, userId } = world.member;
    expect(principal).toEqual({
      ...{ kind: 'key', id: `key:${key.id}`, workspaceId, userId, role: 'member' },
      ...{ scopes: ['read', 'write'], prefix: key.prefix, expiresAt: null },
    });
    expect(Object.isFrozen(principal)).toBe(true);
  });

  it('authenticates among many unknown keys, which together cost few statements', async () => {
    const lookUp = jest.spyOn(IdentityRepository.prototype, 'keysByPrefix');
    const { text } = await newKey(world.owner);
    const unknown = Array.from({ length: 150 }, () => `nsk_${randomBytes(6).toString('hex')}_${'x'.repeat(43)}`);
    const ends = await Promise.allSettled([...unknown, text].map((key) => authenticate(`Bearer ${key}`)));
    expect(ends.slice(0, -1).every(({ status }) => status === 'rejected')).toBe(true);
    expect(ends.at(-1)).toMatchObject({ status: 'fulfilled', value: { userId: world.owner.userId } });
    expect(lookUp.mock.calls.length).toBeLessThanOrEqual(2);
    lookUp.mockRestore();
  });

  it('opens no other workspace, existing or not', async () => {
    const { text } = await newKey(world.owner);
    for (const id of [other.owner.workspaceId, newId(), 'no id'])
      await expect(authenticate(`Bearer ${text}`, id)).rejects.toMatchObject(hidden);
  });

  it('stops working at once after its revocation', async () => {
    const { text, key } = await newKey(world.owner);
    const principal = await authenticate(`Bearer ${text}`);
    await identities.auth.apiKeys.revoke(world.owner, key.id);
    await expect(authenticate(`Bearer ${text}`)).rejects.toMatchObject(refused);
    expect(await identities.auth.authenticator.recheck(principal)).toBeNull();
  });

  it('stops working within two seconds in a process that missed the hint', async () => {
    const deaf = new HintBus();
    deaf.deaf = true;
    const elsewhere = openTestIdentities(database, deaf);
    const { text, key } = await newKey(world.owner);
    const enter = () => elsewhere.auth.authenticator.authenticate({ authorization: `Bearer ${text}` });
    await enter();
    elsewhere.clock.advance(999);
    await enter();
    await identities.auth.apiKeys.revoke(world.owner, key.id);
    elsewhere.clock.advance(1_000);
    await expect(enter()).rejects.toMatchObject(refused);
  });

  it('reads from the database again after a gap in the hints', async () => {
    const { text, key } = await newKey(world.owner);
    await authenticate(`Bearer ${text}`);
    identities.bus.deaf = true;
    await identities.auth.apiKeys.revoke(world.owner, key.id);
    await expect(authenticate(`Bearer ${text}`)).resolves.toBeDefined();
    identities.bus.gap();
    await expect(authenticate(`Bearer ${text}`)).rejects.toMatchObject(refused);
  });

  it('stops working when its user leaves the workspace, and stays invalid when the user joins again', async () => {
    const { text } = await newKey(world.member);
    await identities.auth.members.remove(world.owner, world.member.userId);
    await expect(authenticate(`Bearer ${text}`)).rejects.toMatchObject(refused);
    await identities.join(world.owner, `here${serial}-member`, 'member');
    await expect(authenticate(`Bearer ${text}`)).rejects.toMatchObject(refused);
  });

  it('loses the rights that its user loses', async () => {
    const { text } = await newKey(world.admin, { scopes: ['read', 'admin'] });
    const before = await authenticate(`Bearer ${text}`);
    await identities.auth.members.changeRole(world.owner, { userId: world.admin.userId, role: 'viewer' });
    expect(await authenticate(`Bearer ${text}`)).toMatchObject({ role: 'viewer' });
    expect(await identities.auth.authenticator.recheck(before)).toMatchObject({ role: 'viewer', id: before.id });
  });

  it('records its use at most once a minute', async () => {
    const { text, key } = await newKey(world.owner);
    const lastUsed = async () => {
      const { items } = await identities.auth.apiKeys.list(world.owner, { first: 100 });
      return items.find(({ id }) => id === key.id)?.lastUsedAt;
    };
    expect(await lastUsed()).toBeNull();
    const first = identities.clock.now();
    await authenticate(`Bearer ${text}`);
    expect(await lastUsed()).toBe(first);
    identities.clock.advance(59_000);
    await authenticate(`Bearer ${text}`);
    expect(await lastUsed()).toBe(first);
    identities.clock.advance(2_000);
    await authenticate(`Bearer ${text}`);
    expect(await lastUsed()).toBe(first + 61_000);
  });

  it('needs no query within a second after the first use', async () => {
    const { text } = await newKey(world.owner);
    await authenticate(`Bearer ${text}`);
    const query = jest.spyOn(database.postgres.api, 'query');
    const connect = jest.spyOn(database.postgres.api, 'connect');
    for (let i = 0; i < 100; i++) await authenticate(`Bearer ${text}`);
    expect(query.mock.calls.length + connect.mock.calls.length).toBe(0);
    jest.restoreAllMocks();
  });
});

describe('guessing a key', () => {
  it('takes longer for each prefix, needs one query, and does not lock out the owner', async () => {
    const { text } = await newKey(world.owner);
    const query = jest.spyOn(database.postgres.api, 'query');
    const codes: string[] = [];
    for (let i = 0; i < 1_000; i++) {
      const guess = `${text.slice(0, -43)}${String(i).padStart(43, 'x')}`;
      await authenticate(`Bearer ${guess}`).catch((error: unknown) => codes.push((error as { code: string }).code)); // every refusal is an AppError
    }
    expect(query).toHaveBeenCalledTimes(1);
    jest.restoreAllMocks();
    expect(codes.slice(0, 20)).toEqual(Array.from({ length: 20 }, () => 'unauthenticated'));
    expect(new Set(codes.slice(20))).toEqual(new Set(['rate_limited']));
    expect(codes).toHaveLength(1_000);
    await expect(authenticate(`Bearer ${text}`)).resolves.toMatchObject({ kind: 'key' });
  });

  it('gets the same error for an existing and an unknown prefix', async () => {
    const { text } = await newKey(world.owner);
    const outcomes = async (prefix: string) => {
      const seen: unknown[] = [];
      for (let i = 0; i < 25; i++) {
        const guess = `nsk_${prefix}_${String(i).padStart(43, 'x')}`;
        await authenticate(`Bearer ${guess}`).catch((error: unknown) => seen.push(error));
      }
      return seen.map((error) => JSON.stringify([String(error), error]));
    };
    expect(await outcomes(text.slice(4, 16))).toEqual(await outcomes('zzzzzzzzzzzz'));
  });
});

describe('Authenticator.recheck', () => {
  it('keeps the same principal while nothing changed', async () => {
    expect(await identities.auth.authenticator.recheck(world.member)).toBe(world.member);
    const key = await authenticate(`Bearer ${(await newKey(world.member)).text}`);
    expect(await identities.auth.authenticator.recheck(key)).toBe(key);
  });

  it('returns a new role, and detects a removed membership', async () => {
    await identities.auth.members.changeRole(world.owner, { userId: world.member.userId, role: 'viewer' });
    expect(await identities.auth.authenticator.recheck(world.member)).toMatchObject({
      role: 'viewer',
      id: world.member.id,
    });
    await identities.auth.members.remove(world.owner, world.member.userId);
    expect(await identities.auth.authenticator.recheck(world.member)).toBeNull();
  });

  it('queries the database at most once a second', async () => {
    await identities.auth.authenticator.recheck(world.member);
    const query = jest.spyOn(database.postgres.api, 'query');
    for (let i = 0; i < 100; i++) await identities.auth.authenticator.recheck(world.member);
    identities.clock.advance(1_000);
    for (let i = 0; i < 100; i++) await identities.auth.authenticator.recheck(world.member);
    expect(query).toHaveBeenCalledTimes(1);
    jest.restoreAllMocks();
  });
});

describe('closing the authenticator', () => {
  it('ends its subscriptions to the bus', () => {
    expect(identities.bus.listening).toBeGreaterThan(0);
    identities.auth.close();
    expect(identities.bus.listening).toBe(0);
  });
});
