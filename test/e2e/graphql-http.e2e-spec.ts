import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { getIntrospectionQuery } from 'graphql';
import { serverAudits } from 'graphql-http';

import type { GraphqlContext } from '#auth/api';

import { ContextFactory } from '../../apps/api/src/graphql/context-factory.js';
import type { DocumentCache } from '../../apps/api/src/graphql/documents/document-cache.js';
import { GraphqlExecutor } from '../../apps/api/src/graphql/documents/graphql-executor.js';
import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { ask, RawSocket } from '../harness/graphql.js';
import { hostileRequests } from '../harness/hostile-documents.js';

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

describe('GraphQL over HTTP:', () => {
  const modern = 'application/graphql-response+json';

  const preflighted = { 'apollo-require-preflight': 'true' };

  const create = 'mutation { createThread(input: {}) { thread { id } } }';

  const count = '{ threads { totalCount } }';

  const get = (parameters: Readonly<Record<string, string>>, headers: Readonly<Record<string, string>> = preflighted) =>
    api.call('GET', `/graphql?${new URLSearchParams(parameters).toString()}`, { key: ours.key, headers });

  const post = (body: unknown, headers: Readonly<Record<string, string>> = {}, key = ours.key) =>
    api.call('POST', '/graphql', { key, body, headers });

  interface ErrorBody {
    readonly errors: readonly { readonly message: string; readonly extensions: Readonly<Record<string, unknown>> }[];
  }

  const firstError = ({ body }: { readonly body: unknown }) => (body as ErrorBody).errors[0];

  const codeOf = (reply: { readonly body: unknown }) => firstError(reply)?.extensions['code'];

  describe('the endpoint /graphql', () => {
    it('passes every audit of graphql-http', async () => {
      const fetchFn = (url: string, init?: RequestInit) => {
        const headers = new Headers(init?.headers);
        headers.set('authorization', `Bearer ${ours.key}`);
        headers.set('apollo-require-preflight', 'true');
        return fetch(url, { ...init, headers });
      };
      const results = await Promise.all(
        serverAudits({ url: `${api.url}/graphql`, fetchFn }).map((audit) => audit.fn()),
      );
      expect(results.length).toBeGreaterThan(50);
      expect(results.filter(({ status }) => status !== 'ok').map(({ name, status }) => `${status}: ${name}`)).toEqual(
        [],
      );
    });

    it('runs queries by GET, and refuses mutations by GET', async () => {
      expect(await get({ query: count })).toMatchObject({
        status: 200,
        body: { data: { threads: { totalCount: 0 } } },
      });
      const variables = JSON.stringify({ n: 1 });
      const query = 'query($n: Int) { threads(first: $n) { nodes { id } } }';
      expect((await get({ query, variables })).body).toEqual({ data: { threads: { nodes: [] } } });
      const refused = await get({ query: create });
      expect([refused.status, refused.headers.get('allow'), codeOf(refused)]).toEqual([405, 'POST', 'BAD_USER_INPUT']);
      expect((await get({ query: count })).body).toEqual({ data: { threads: { totalCount: 0 } } });
    });

    it('rejects a GET that a page of another site could send', async () => {
      const refused = await get({ query: count }, {});
      expect([refused.status, firstError(refused)?.message]).toEqual([400, expect.stringContaining('(CSRF)')]);
      expect((await get({ query: count }, { 'content-type': 'application/json' })).status).toBe(200);
      expect((await get({ query: count }, { 'x-apollo-operation-name': 'Count' })).status).toBe(200);
    });

    it('rejects other methods, content types, uploads and batches before it runs anything', async () => {
      for (const method of ['PUT', 'PATCH', 'DELETE']) {
        const refused = await api.call(method, '/graphql', { key: ours.key, body: { query: create } });
        expect([method, refused.status, refused.headers.get('allow')]).toEqual([method, 405, 'GET, POST']);
      }
      for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']) {
        const refused = await post(JSON.stringify({ query: create }), { 'content-type': type, ...preflighted });
        expect([type, refused.status, firstError(refused)?.message]).toEqual([
          type,
          415,
          'Send the request as application/json',
        ]);
      }
      const batch = await post([{ query: create }]);
      expect([batch.status, firstError(batch)?.message]).toEqual([400, 'Operation batching disabled.']);
      expect((await post({ query: count })).body).toEqual({ data: { threads: { totalCount: 0 } } });
    });

    it('negotiates the media type, and runs nothing for a client that accepts none of them', async () => {
      const typeFor = async (accept: string) => (await post({ query: count }, { accept })).headers.get('content-type');
      expect(await typeFor('*/*')).toBe('application/json; charset=utf-8');
      expect(await typeFor(modern)).toBe(`${modern}; charset=utf-8`);
      expect(await typeFor(`${modern}, application/json;q=0.9`)).toBe(`${modern}; charset=utf-8`);
      expect(await typeFor(`application/json, ${modern};q=0.9`)).toBe('application/json; charset=utf-8');
      for (const accept of ['text/event-stream', 'multipart/mixed']) {
        const refused = await post({ query: create }, { accept });
        expect([refused.status, codeOf(refused)]).toEqual([406, 'BAD_USER_INPUT']);
      }
      expect((await post({ query: count })).body).toEqual({ data: { threads: { totalCount: 0 } } });
      const wrong = { query: '{ tol }' };
      expect([(await post(wrong)).status, (await post(wrong, { accept: modern })).status]).toEqual([200, 400]);
    });

    it('returns every error with a code and the request id, and never a stack trace', async () => {
      const headers = { 'x-request-id': 'req-1', accept: modern };
      const cases = [
        await post({ query: '{ tol me { nope } }' }, headers),
        await post({ query: '{ job(id: "nope") { id } }' }, headers),
        await post({}, headers),
        await post('{"query":', headers),
        await post({ query: count, variables: 'x' }, headers),
        await post({ query: 'subscription { workspaceActivity { jobId } }' }, headers),
        await get({ query: count, variables: '{' }, { ...headers, ...preflighted }),
        await api.call('POST', '/graphql', { body: { query: count }, headers }),
        await post({ query: count }, { ...headers, 'x-workspace-id': theirs.principal.workspaceId }),
      ];
      for (const { status, body } of cases) {
        expect(JSON.stringify(body)).not.toMatch(/stacktrace|node_modules|\.js:|Did you mean/);
        const { errors = [] } = body as Partial<ErrorBody>;
        for (const { extensions } of errors) {
          expect([status, extensions]).toEqual([status, expect.objectContaining({ requestId: 'req-1' })]);
          expect(extensions['code']).toMatch(/^(BAD_USER_INPUT|NOT_FOUND|UNAUTHENTICATED)$/);
          expect(extensions).not.toHaveProperty('http');
        }
      }
      const errorsOf = ({ body }: { readonly body: unknown }) => (body as ErrorBody).errors.length;
      expect(cases.map(({ status }) => status)).toEqual([400, 200, 400, 400, 400, 400, 400, 401, 200]);
      expect(errorsOf(cases[0] ?? { body: { errors: [] } })).toBe(2);
    });

    it('ends the context of an operation, and its copies, when the client disconnects', async () => {
      const { app } = api.api;
      const made = jest.spyOn(app.get(ContextFactory, { strict: false }), 'make');
      const executor = app.get(GraphqlExecutor, { strict: false });
      const prepared = Promise.withResolvers<never>();
      const preparing = jest.spyOn(executor, 'prepare').mockReturnValueOnce(prepared.promise);
      const client = new AbortController();
      const headers = { authorization: `Bearer ${ours.key}`, 'content-type': 'application/json' };
      const body = JSON.stringify({ query: count });
      const asked = fetch(`${api.url}/graphql`, { method: 'POST', headers, body, signal: client.signal });
      await eventually('the operation is prepared', () => preparing.mock.calls.length > 0 || undefined);
      const context = made.mock.results[0]?.value as GraphqlContext;
      // As Apollo Server copies it for the resolvers.
      const copy = Object.assign(Object.create(Object.getPrototypeOf(context) as object) as GraphqlContext, context);
      expect([context.signal.aborted, copy.signal.aborted]).toEqual([false, false]);
      client.abort();
      await expect(asked).rejects.toThrow('aborted');
      await eventually('both have ended', () => (context.signal.aborted && copy.signal.aborted) || undefined);
      prepared.reject(new Error('late'));
      jest.restoreAllMocks();
    });

    it('sends no telemetry to Apollo with any APOLLO_ variable', async () => {
      const variables = {
        APOLLO_KEY: 'service:nightshift:key',
        APOLLO_GRAPH_REF: 'nightshift@current',
        APOLLO_SCHEMA_REPORTING: 'true',
      };
      Object.assign(process.env, variables);
      const fetched = jest.spyOn(globalThis, 'fetch');
      const reporting = await startTestApi(database, { takesJobs: false });
      try {
        expect((await ask(reporting, count, { key: ours.key })).errors).toEqual([]);
        await reporting.close();
        expect(fetched.mock.calls.map(([url]) => new URL(url as string).origin)).toEqual([reporting.url]);
      } finally {
        jest.restoreAllMocks();
        for (const name of Object.keys(variables)) Reflect.deleteProperty(process.env, name);
        await reporting.close();
      }
    });

    it('returns 404 for every path below it', async () => {
      const { status } = await api.call('POST', '/graphql/more', { key: ours.key, body: { query: count } });
      expect(status).toBe(404);
    });
  });

  describe('hostile GraphQL document', () => {
    it.each(hostileRequests)('fails equally over HTTP and WebSocket: $title', async ({ query, variables, message }) => {
      const overHttp = await ask(api, query, { key: ours.key, ...(variables === undefined ? {} : { variables }) });
      const socket = await RawSocket.enter(api, ours.key);
      socket.send({ id: '1', type: 'subscribe', payload: { query, variables } });
      const { type, payload } = await socket.until(({ id }) => id === '1');
      socket.close();
      expect(type).toBe('error');
      const overSocket = payload as typeof overHttp.errors;
      const comparable = (errors: typeof overHttp.errors) =>
        errors.map((error) => ({ ...error, extensions: { ...error.extensions, requestId: '' } }));
      expect(comparable(overHttp.errors)).toEqual(comparable(overSocket));
      expect([overHttp.data, overHttp.errors[0]?.extensions['code']]).toEqual([undefined, 'BAD_USER_INPUT']);
      expect(overHttp.errors[0]?.message).toContain(message);
    });

    it('resolves from one cache in both transports', async () => {
      const cache = Reflect.get(api.api.app.get(GraphqlExecutor, { strict: false }), 'cache') as DocumentCache;
      const sizeOf = () => (Reflect.get(cache, 'documents') as Map<string, unknown>).size;
      const query = 'query OnBothTransports { me { id } }';
      await ask(api, query, { key: ours.key });
      const size = sizeOf();
      const socket = await RawSocket.enter(api, ours.key);
      socket.send({ id: '1', type: 'subscribe', payload: { query } });
      await socket.until(({ id, type }) => id === '1' && type === 'next');
      socket.close();
      expect(sizeOf()).toBe(size);
    });
  });
});

describe('persisted GraphQL operations:', () => {
  const create = 'mutation { createThread(input: {}) { thread { id } } }';

  const count = '{ threads { totalCount } }';

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
        socket.send({
          id: 'no',
          type: 'subscribe',
          payload: { query: 'subscription { workspaceActivity { jobId } }' },
        });
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
});
