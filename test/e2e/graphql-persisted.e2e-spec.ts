import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { getIntrospectionQuery } from 'graphql';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { ask, RawSocket } from '../harness/graphql.js';
import { hostileRequests } from '../harness/hostile-documents.js';

const create = 'mutation { createThread(input: {}) { thread { id } } }';
const count = '{ threads { totalCount } }';

let database: TestDatabase;
let api: TestApi;
let ours: TestMember;
let theirs: TestMember;

beforeAll(async () => {
  database = await createTestDatabase();
  api = await startTestApi(database, { takesJobs: false });
  ours = (await api.people.workspaceOf('ours')).owner;
  theirs = (await api.people.workspaceOf('theirs')).owner;
});
afterAll(async () => {
  await api.close();
  await database.close();
});

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const preflighted = { 'apollo-require-preflight': 'true' };
const get = (parameters: Readonly<Record<string, string>>) =>
  api.call('GET', `/graphql?${new URLSearchParams(parameters).toString()}`, { key: ours.key, headers: preflighted });
const post = (body: unknown, key = ours.key) => api.call('POST', '/graphql', { key, body });

interface ErrorBody {
  readonly errors: readonly { readonly extensions: Readonly<Record<string, unknown>> }[];
}

const codeOf = ({ body }: { readonly body: unknown }) => (body as ErrorBody).errors[0]?.extensions['code'];

describe('automatic persisted query', () => {
  const extensionsOf = (query: string) => ({ persistedQuery: { version: 1, sha256Hash: sha256(query) } });

  it('runs by its hash once its document was sent, by POST and by GET', async () => {
    const query = 'query Persisted { threads { totalCount } }';
    const extensions = extensionsOf(query);
    expect(codeOf(await post({ extensions }))).toBe('PERSISTED_QUERY_NOT_FOUND');
    expect((await post({ query, extensions })).body).toEqual({ data: { threads: { totalCount: 0 } } });
    expect((await post({ extensions })).body).toEqual({ data: { threads: { totalCount: 0 } } });
    const byGet = await get({ extensions: JSON.stringify(extensions) });
    expect(byGet.body).toEqual({ data: { threads: { totalCount: 0 } } });
  });

  it('returns not found in another workspace', async () => {
    const query = 'query OfOurs { me { id } }';
    const extensions = extensionsOf(query);
    await post({ query, extensions });
    expect(codeOf(await post({ extensions }, theirs.key))).toBe('PERSISTED_QUERY_NOT_FOUND');
    expect((await post({ extensions })).body).toMatchObject({ data: { me: {} } });
  });

  it('stays unstored under the hash of another document, and when it is rejected', async () => {
    const extensions = extensionsOf('{ me { id } }');
    expect((await post({ query: count, extensions })).status).toBe(400);
    expect(codeOf(await post({ extensions }))).toBe('PERSISTED_QUERY_NOT_FOUND');
    const [hostile] = hostileRequests;
    const query = hostile?.query ?? '';
    await post({ query, extensions: extensionsOf(query) });
    expect(codeOf(await post({ extensions: extensionsOf(query) }))).toBe('PERSISTED_QUERY_NOT_FOUND');
  });
});

describe('GRAPHQL_ALLOWED_OPERATIONS', () => {
  const allowed = `query Count { threads { ...F } } fragment F on ThreadConnection { totalCount }`;
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'nightshift-operations-'));
  });
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  /** Starts an API with the text as its list, and calls it with a document over both transports. */
  async function withList(text: string, use: (limited: TestApi) => Promise<void>): Promise<void> {
    const file = join(folder, 'operations');
    writeFileSync(file, text);
    const limited = await startTestApi(database, { takesJobs: false, env: { GRAPHQL_ALLOWED_OPERATIONS: file } });
    try {
      await use(limited);
    } finally {
      await limited.close();
    }
  }

  it.each([
    ['GraphQL text', `${allowed} query Me { me { id } }`],
    [
      'an Apollo manifest',
      JSON.stringify({
        format: 'apollo-persisted-query-manifest',
        version: 1,
        operations: [{ id: sha256(allowed), body: allowed }],
      }),
    ],
    ['a JSON object of documents by id', JSON.stringify({ 'count-1': allowed })],
  ])('as %s lets the operations of the file run, and no other', async (_, text) => {
    await withList(text, async (limited) => {
      const { key } = ours;
      const reformatted = 'fragment F on ThreadConnection {\n  totalCount # all\n}\nquery Count { threads { ...F } }';
      for (const query of [allowed, reformatted])
        expect((await ask(limited, query, { key })).data).toEqual({ threads: { totalCount: 0 } });
      for (const query of [count, create, getIntrospectionQuery(), '{ me { id email } }']) {
        const { status, data, errors } = await ask(limited, query, { key });
        expect([status, data, errors[0]?.extensions]).toEqual([
          403,
          undefined,
          expect.objectContaining({ code: 'FORBIDDEN', reason: 'operation_not_allowed' }),
        ]);
      }
      const socket = await RawSocket.enter(limited, key);
      socket.send({ id: 'yes', type: 'subscribe', payload: { query: allowed } });
      socket.send({ id: 'no', type: 'subscribe', payload: { query: 'subscription { workspaceActivity { jobId } }' } });
      expect((await socket.until(({ id }) => id === 'yes')).type).toBe('next');
      expect(JSON.stringify(await socket.until(({ id }) => id === 'no'))).toContain('operation_not_allowed');
      socket.close();
    });
  });

  it('lets a client send the id of an operation instead of its text', async () => {
    await withList(JSON.stringify({ 'count-1': allowed }), async (limited) => {
      for (const sha256Hash of ['count-1', sha256(allowed)]) {
        const body = { extensions: { persistedQuery: { version: 1, sha256Hash } } };
        const reply = await limited.call('POST', '/graphql', { key: ours.key, body });
        expect(reply.body).toEqual({ data: { threads: { totalCount: 0 } } });
      }
    });
  });

  it.each([['nonsense {'], ['{}'], ['fragment F on Query { me { id } }']])(
    'stops the start with the text %p',
    async (text) => {
      await expect(withList(text, () => Promise.resolve())).rejects.toThrow('GRAPHQL_ALLOWED_OPERATIONS');
    },
  );
});
