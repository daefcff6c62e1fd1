import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { INestApplicationContext } from '@nestjs/common';

import { type KeyPrincipal, type KeyScope, type MemberPrincipal, type Role, scopeOf, systemPrincipal } from '#auth';
import { decidableBy, type Interrupt, InterruptsRepository } from '#jobs';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { startTestEngine, type TestEngine } from '../../../../test/harness/engine.js';
import { openTestIdentities, type TestIdentities } from '../../../../test/harness/identities.js';
import { layOutWaitingJob, openInterrupt } from '../../../../test/harness/interrupts.js';
import { mayDecide } from '../policies/may-decide.js';
import { InterruptsService } from './interrupts.service.js';

let database: TestDatabase;
let identities: TestIdentities;
let engine: TestEngine;
let app: INestApplicationContext;
let here: Record<Role, MemberPrincipal>;

beforeAll(async () => {
  database = await createTestDatabase();
  identities = openTestIdentities(database);
  engine = await startTestEngine(database, {}, false);
  app = engine.app;
  here = await identities.workspaceOf('here');
  // A request of every kind, by a requester of every role and without a requester.
  for (const asker of [here.owner, here.admin, here.member]) {
    const job = await layOutWaitingJob(app, asker);
    for (const who of decidableBy)
      for (const fourEyes of [false, true])
        for (const adminRequired of [false, true])
          for (const requester of [asker.userId, here.viewer.userId, null])
            await openInterrupt(app, job, { decidableBy: who, fourEyes, adminRequired, requester });
    await openInterrupt(app, job, { kind: 'client_tool' });
  }
});

afterAll(async () => {
  await engine.close();
  identities.auth.close();
  await database.close();
});

const key = ({ workspaceId, userId, role }: MemberPrincipal, scopes: readonly KeyScope[]): KeyPrincipal =>
  Object.freeze({ kind: 'key', id: 'key:k', prefix: 'p', workspaceId, userId, role, scopes, expiresAt: null });

async function everything(): Promise<readonly Interrupt[]> {
  const found: Interrupt[] = [];
  for (let after: string | undefined; ;) {
    const page = { limit: 100, ...(after === undefined ? {} : { after }) };
    const rows = await app.get(InterruptsRepository).listInScope(scopeOf(here.owner), {}, page);
    found.push(...rows.slice(0, 100));
    after = found.at(-1)?.id;
    if (rows.length <= 100) return found;
  }
}

describe('the list of requests that a principal may decide', () => {
  it.each<[string, () => MemberPrincipal]>([
    ['an owner', () => here.owner],
    ['an admin', () => here.admin],
    ['a member', () => here.member],
    ['a viewer', () => here.viewer],
    ["an admin's key that may approve", () => key(here.admin, ['read', 'approve'])],
    ["an admin's key that may approve and write", () => key(here.admin, ['read', 'write', 'approve'])],
    ["a member's key that may approve and write", () => key(here.member, ['read', 'write', 'approve'])],
    ["an owner's key that may not approve", () => key(here.owner, ['read', 'write', 'admin'])],
  ])('contains exactly the requests that %s may decide one by one', async (_, principal) => {
    const expected = (await everything())
      .filter(({ kind }) => kind !== 'client_tool')
      .filter((asked) => mayDecide(principal(), { ...asked, jobCreatedBy: asked.requester }))
      .map(({ id }) => id);
    const found: string[] = [];
    for (let after: string | undefined; ;) {
      const page = { limit: 100, ...(after === undefined ? {} : { after }) };
      const rows = await app.get(InterruptsService).list(principal(), { assignee: 'mine' }, page);
      found.push(...rows.slice(0, 100).map(({ id }) => id));
      after = found.at(-1);
      if (rows.length <= 100) break;
    }
    expect(found).toEqual(expected);
    expect(await app.get(InterruptsService).count(principal(), { assignee: 'mine' })).toBe(expected.length);
  });

  it('counts no requests in the inbox of the system principal', async () => {
    const itself = systemPrincipal(here.owner.workspaceId);
    expect(await app.get(InterruptsService).count(itself, { assignee: 'mine' })).toBe(0);
  });

  it('hides requests from a principal that may not read their jobs', async () => {
    const blind = key(here.owner, ['approve', 'write']);
    const inbox = app.get(InterruptsService);
    expect(await inbox.count(blind, {})).toBe(0);
    expect(await inbox.list(blind, { assignee: 'mine' }, { limit: 100 })).toEqual([]);
    const [one] = await inbox.list(here.owner, {}, { limit: 1 });
    await expect(inbox.find(blind, one?.id ?? '')).rejects.toThrow('Request not found');
    expect(await inbox.findMany(blind, {}, [one?.id ?? ''])).toEqual([]);
  });

  it('lists for another user the requests that only that requester may decide', async () => {
    const { userId } = here.member;
    const of = await app.get(InterruptsService).list(here.owner, { assignee: { userId } }, { limit: 100 });
    expect(of).toHaveLength(2);
    expect(
      of.every(({ requester, fourEyes, adminRequired }) => requester === userId && !fourEyes && !adminRequired),
    ).toBe(true);
    const mine = await app.get(InterruptsService).count(here.owner, { assignee: { userId: here.owner.userId } });
    expect(mine).toBe(await app.get(InterruptsService).count(here.owner, { assignee: 'mine' }));
  });
});
