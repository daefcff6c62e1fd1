import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { newId } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../test/harness/database.js';
import { IdentityRepository } from './identity.repository.js';

let database: TestDatabase;
let identities: IdentityRepository;

beforeAll(async () => {
  database = await createTestDatabase();
  identities = new IdentityRepository(database.prisma);
});
afterAll(() => database.close());

const token = (subject: string, email: string | null = null, issuer = 'https://issuer.example') => ({
  issuer,
  subject,
  email,
  name: subject,
});

describe('SECURITY DEFINER', () => {
  it('applies only to the reviewed functions, which fix their search_path, belong to the owner and serve only the API role', async () => {
    const { rows } = await database.postgres.api.query(`
      SELECT p.oid::regprocedure::text AS name, pg_get_userbyid(p.proowner) AS owner, p.proconfig AS settings,
             (SELECT array_agg(coalesce(r.rolname, 'public') ORDER BY r.rolname) FROM aclexplode(p.proacl) a
                LEFT JOIN pg_roles r ON r.oid = a.grantee WHERE a.privilege_type = 'EXECUTE')::text[] AS granted
        FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
       WHERE p.prosecdef AND n.nspname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1`);
    const ofTriggers = ['job_change()', 'message_change()', 'tool_call_change()']; // trigger functions need no grant
    const reviewed = [
      'files_in_messages(text[])',
      'identity_invitations(text,uuid,uuid,integer,timestamp with time zone)',
      'identity_key(text)',
      'identity_key_revoked(uuid,uuid)',
      'identity_memberships(uuid)',
      'identity_revoke_key(uuid,uuid,timestamp with time zone)',
      'identity_user_by_email(uuid,text,text)',
      'identity_user_by_subject(uuid,text,text,text,text)',
      ...ofTriggers,
      'tool_call_search(boolean,text[],uuid,uuid,boolean,integer)',
    ];
    const promise = {
      owner: 'nightshift_owner',
      settings: expect.arrayContaining(['search_path=pg_catalog, pg_temp']),
    };
    const grantedTo = (name: string) => (ofTriggers.includes(name) ? [] : ['nightshift_api']);
    expect(rows).toEqual(
      reviewed.map((name) => ({ name, ...promise, granted: [...grantedTo(name), 'nightshift_owner'] })),
    );
  });

  it('refuses the role of the workers', async () => {
    await expect(
      database.postgres.workerPool.query('SELECT * FROM identity_memberships($1)', [newId()]),
    ).rejects.toThrow(/permission denied/);
  });

  it('ignores a table of the same name in the caller’s temporary schema', async () => {
    const id = await identities.userByEmail({ email: 'real@example.org', name: 'Real' });
    const client = await database.postgres.api.connect();
    try {
      await client.query(
        `CREATE TEMP TABLE app_user (id uuid, email text, name text); SET search_path = pg_temp, public`,
      );
      const { rows } = await client.query<{ name: string }>('SELECT name FROM identity_memberships($1)', [id]);
      expect(rows).toEqual([{ name: 'Real' }]);
    } finally {
      client.release(true);
    }
  });
});

describe('the user of an address', () => {
  it('exists once, also when many requests create it at the same time', async () => {
    const made = await Promise.all(
      Array.from({ length: 8 }, () => identities.userByEmail({ email: 'one@example.org', name: 'One' })),
    );
    expect(new Set(made).size).toBe(1);
    expect(await identities.user(made[0] ?? '')).toEqual({
      id: made[0],
      email: 'one@example.org',
      name: 'One',
      memberships: [],
    });
  });

  it('keeps its name when it is requested again with another name', async () => {
    const id = await identities.userByEmail({ email: 'two@example.org', name: 'Two' });
    expect(await identities.userByEmail({ email: 'two@example.org', name: 'Second name' })).toBe(id);
    expect((await identities.user(id))?.name).toBe('Two');
  });
});

describe('the user of a token', () => {
  it('exists once from the first token on, also when many requests arrive at the same time', async () => {
    const made = await Promise.all(
      Array.from({ length: 8 }, () => identities.userBySubject(token('s1', 's1@example.org'))),
    );
    expect(new Set(made).size).toBe(1);
    expect(await identities.user(made[0] ?? '')).toMatchObject({
      email: 's1@example.org',
      name: 's1',
      memberships: [],
    });
  });

  it('matches the user who was invited by the verified address', async () => {
    const invited = await identities.userByEmail({ email: 'guest@example.org', name: '' });
    expect(await identities.userBySubject(token('guest', 'guest@example.org'))).toBe(invited);
    expect((await identities.user(invited))?.name).toBe('guest');
  });

  it('matches no invitation without a verified address', async () => {
    const invited = await identities.userByEmail({ email: 'invited@example.org', name: '' });
    const stranger = await identities.userBySubject(token('unverified'));
    expect(stranger).not.toBe(invited);
    expect((await identities.user(stranger))?.email).toMatch(/@unverified\.invalid$/);
  });

  it('never takes over the user of another token', async () => {
    const first = await identities.userBySubject(token('first', 'shared@example.org'));
    const second = await identities.userBySubject(token('second', 'shared@example.org'));
    const elsewhere = await identities.userBySubject(token('first', 'shared@example.org', 'https://other.example'));
    expect(new Set([first, second, elsewhere]).size).toBe(3);
    expect(await identities.userBySubject(token('first', 'shared@example.org'))).toBe(first);
  });

  it('never matches a user that the installation created, for any address of the token', async () => {
    const demo = await identities.userByEmail({ email: 'demo@nightshift.local', name: 'Demo' });
    const claimed = await identities.userBySubject(token('claims-demo', 'demo@nightshift.local'));
    expect(claimed).not.toBe(demo);
    expect((await identities.user(claimed))?.email).toMatch(/@unverified\.invalid$/);
    const first = await identities.userBySubject(token('claims-other', 'other@nightshift.local'));
    expect(await identities.userByEmail({ email: 'other@nightshift.local', name: '' })).not.toBe(first);
  });

  it('depends on issuer and subject separately', async () => {
    const one = await identities.userBySubject(token('b', null, 'https://a'));
    const two = await identities.userBySubject(token('/b', null, 'https://a'));
    expect(one).not.toBe(two);
  });
});
