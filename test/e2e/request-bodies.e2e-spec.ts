import { request as httpRequest } from 'node:http';
import { gzipSync } from 'node:zlib';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';

import { newId } from '#platform';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { ask } from '../harness/graphql.js';
import { graphqlMember } from '../harness/graphql-member.js';
import { RawConnection } from '../harness/raw-http.js';

describe('request bodies', () => {
  let database: TestDatabase;
  let test: TestApi;
  let owner: TestMember;

  beforeAll(async () => {
    database = await createTestDatabase();
    test = await startTestApi(database, { takesJobs: false, env: { BODY_TIMEOUT_MS: '2000' } });
    ({ owner } = await test.people.workspaceOf('bodies'));
  });

  afterAll(async () => {
    await test.close();
    await database.close();
  });

  const json = { 'Content-Type': 'application/json' };

  const bearer = () => ({ Authorization: `Bearer ${owner.key}` });

  const paths = ['/api/jobs', '/v1/chat/completions', '/graphql'];

  /** Every path of the API reference that takes a body, with ids filled in. */
  async function pathsWithBodies(): Promise<{ method: string; path: string }[]> {
    const { body } = await test.call('GET', '/openapi.json');
    const { paths: routes } = body as { paths: Record<string, Record<string, { requestBody?: unknown }>> };
    return Object.entries(routes).flatMap(([path, operations]) =>
      Object.entries(operations)
        .filter(([, { requestBody }]) => requestBody !== undefined)
        .map(([method]) => ({
          method: method.toUpperCase(),
          path: path.replaceAll(/\{[^}]+\}/g, '01890000-0000-7000-8000-000000000000'),
        })),
    );
  }

  function chunkOf(bytes: number): Buffer {
    return Buffer.from(`${bytes.toString(16)}\r\n${'1'.repeat(bytes)}\r\n`);
  }

  describe('request without a valid credential', () => {
    it('gets a rejection on every path before a byte of its body arrives', async () => {
      const routes = await pathsWithBodies();
      expect(routes.length).toBeGreaterThan(10);
      for (const { method, path } of routes) {
        const headers = { ...json, 'Content-Encoding': 'gzip', 'Content-Length': '1000000' };
        for (const credential of [{}, { Authorization: 'Bearer nsk_unknown' }]) {
          const connection = RawConnection.send(test.url, { method, path, headers: { ...headers, ...credential } });
          expect([path, await connection.status()]).toEqual([path, 401]);
          connection.close();
        }
      }
    });

    it('gets a response that a Node client can read before its body is sent', async () => {
      const body = JSON.stringify({ x: 'a'.repeat(4_000_000) });
      for (const path of paths) {
        const reply = await fetch(new URL(path, test.url), { method: 'POST', headers: json, body });
        expect([path, reply.status]).toEqual([path, 401]);
      }
    });

    it.each(paths)('loses a body without an end at %s', async (path) => {
      const connection = RawConnection.send(test.url, { path, headers: { ...json, 'Transfer-Encoding': 'chunked' } });
      const written = await connection.writeUntilClosed(chunkOf(65_536));
      expect(await connection.status()).toBe(401);
      expect(written).toBeLessThan(16 * 1_048_576);
    });
  });

  describe('request body', () => {
    it.each(paths)('never gets inflated by %s', async (path) => {
      const body = gzipSync('{"messages":[]}');
      const headers = { ...json, ...bearer(), 'Content-Encoding': 'gzip' };
      const reply = await fetch(new URL(path, test.url), { method: 'POST', headers, body });
      expect([reply.status, await reply.text()]).toEqual([
        415,
        expect.stringContaining('Unsupported encoding of the request body'),
      ]);
    });

    it.each(paths)('fails in another charset at %s', async (path) => {
      const headers = { ...bearer(), 'Content-Type': 'application/json; charset=utf-16le' };
      const body = Buffer.from('{"messages":[]}', 'utf16le');
      const reply = await fetch(new URL(path, test.url), { method: 'POST', headers, body });
      expect(reply.status).toBe(415);
    });

    it.each(paths)('stops at the limit at %s, and the client reads the reason', async (path) => {
      const headers = { ...json, ...bearer(), 'Transfer-Encoding': 'chunked' };
      const connection = RawConnection.send(test.url, { path, headers });
      const written = await connection.writeUntilClosed(chunkOf(65_536));
      expect(await connection.status()).toBe(413);
      expect(connection.received).toContain('Request body exceeds 4194304 bytes');
      expect(written).toBeLessThan(40 * 1_048_576);
    });

    it('respects the limit of its route when sent in chunks', async () => {
      const path = '/api/jobs/01890000-0000-7000-8000-000000000000/client-tool/claim';
      const headers = { ...json, ...bearer(), 'Transfer-Encoding': 'chunked' };
      const connection = RawConnection.send(test.url, { path, headers });
      connection.write(chunkOf(5_000));
      expect(await connection.status()).toBe(413);
      expect(connection.received).toContain('Request body exceeds 4096 bytes');
      connection.close();
    });

    it.each(paths)(
      'fails at %s before it is complete when it is nested too deep or has too many tokens',
      async (path) => {
        for (const [body, why] of [
          [Buffer.from('['.repeat(101)), 'is nested deeper than 100 levels'],
          [Buffer.from(`[${'{},'.repeat(50_000)}`), 'has more than 100000 JSON tokens'],
        ] as const) {
          const headers = { ...json, ...bearer(), 'Content-Length': '4000000' };
          const connection = RawConnection.send(test.url, { path, headers });
          connection.write(body);
          expect([path, await connection.status()]).toEqual([path, 413]);
          expect(connection.received).toContain(`Request body ${why}`);
          connection.close();
        }
      },
    );

    it.each(paths)('fails at %s when it does not arrive in time', async (path) => {
      const connection = RawConnection.send(test.url, {
        path,
        headers: { ...json, ...bearer(), 'Content-Length': '10' },
      });
      connection.write('{');
      expect(await connection.status()).toBe(408);
      expect(connection.received).toContain('The request body took too long to arrive');
      await connection.closed();
    });
  });

  describe('request body over the limit', () => {
    const text = 'a'.repeat(30 * 1_048_576);

    it('gets a response that fetch can read', async () => {
      for (const path of paths) {
        const init = { method: 'POST', headers: { ...json, ...bearer() }, body: JSON.stringify({ text }) };
        const reply = await fetch(new URL(path, test.url), init);
        expect([path, reply.status, await reply.text()]).toEqual([
          path,
          413,
          expect.stringContaining('Request body exceeds 4194304 bytes'),
        ]);
      }
    });

    it('gets a response that http.request can read', async () => {
      const status = await new Promise((resolve, reject) => {
        const sent = httpRequest(new URL('/api/jobs', test.url), { method: 'POST', headers: { ...json, ...bearer() } });
        sent.once('response', (response) => {
          response.resume().once('end', () => {
            resolve(response.statusCode);
            sent.destroy();
          });
        });
        sent.on('error', reject);
        sent.end(JSON.stringify({ text }));
      });
      expect(status).toBe(413);
    });

    it('gets an error that the OpenAI SDK can read', async () => {
      const client = new OpenAI({ baseURL: `${test.url}/v1`, apiKey: owner.key, maxRetries: 0 });
      const asked = client.chat.completions.create({ model: 'x', messages: [{ role: 'user', content: text }] });
      await expect(asked).rejects.toMatchObject({ status: 413, code: 'request_too_large' });
    });

    it('keeps the connection usable when the rest of the body is small', async () => {
      const headers = { ...json, ...bearer(), 'Content-Length': String(5 * 1_048_576) };
      const connection = RawConnection.send(test.url, { path: '/api/jobs', headers });
      expect(await connection.status()).toBe(413);
      connection.write(Buffer.alloc(5 * 1_048_576, ' '));
      connection.write(`GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`);
      await connection.closed();
      expect(connection.received).toContain('{"status":"ok"}');
    });
  });
});

describe('texts that Postgres cannot store', () => {
  let database: TestDatabase;
  let api: TestApi;
  let key: string;
  let jobId: string;

  beforeAll(async () => {
    database = await createTestDatabase();
    api = await startTestApi(database, { takesJobs: false });
    key = (await api.people.workspaceOf('unstorable')).owner.key;
    const started = await graphqlMember(api, key).start({ message: 'Hello' });
    jobId = started.jobId ?? '';
  });

  afterAll(async () => {
    await api.close();
    await database.close();
  });

  // NUL is what no text of Postgres holds, half a pair what its JSON does not.
  describe.each(['a\0b', 'a\ud800b'])('text that Postgres cannot store: %j', (text) => {
    it.each<[string, object]>([
      ['mutation($i: ClaimClientToolInput!) { claimClientTool(input: $i) { userErrors { code } } }', { deviceId: 'd' }],
      ['mutation($i: ValidateClientToolInput!) { validateClientTool(input: $i) { userErrors { code } } }', {}],
      ['mutation($i: SubmitClientToolResultInput!) { submitClientToolResult(input: $i) { userErrors { code } } }', {}],
    ])('matches no call: %s', async (query, more) => {
      const i = { jobId, callId: text, ...more, ...('deviceId' in more ? {} : { claimToken: newId() }) };
      const input = query.includes('submit') ? { ...i, result: 'so' } : i;
      expect((await ask(api, query, { key, variables: { i: input } })).errors).toEqual([]);
    });

    it.each(['tool', 'approver'])('matches no call by its %s', async (field) => {
      const filter = { [field]: text };
      const list = 'query($filter: ToolCallFilterInput) { toolCalls(filter: $filter) { nodes { id } } }';
      const stats = 'query($filter: ToolCallFilterInput) { toolCallStats(filter: $filter) { __typename } }';
      for (const query of [list, stats])
        expect((await ask(api, query, { key, variables: { filter } })).errors).toEqual([]);
    });

    it.each(['code', 'phase', 'text'])('matches no failure by its %s', async (field) => {
      const variables = { filter: { error: { [field]: text } } };
      const query = 'query($filter: ToolCallFilterInput) { toolCalls(filter: $filter) { nodes { id } } }';
      expect((await ask(api, query, { key, variables })).errors).toEqual([]);
    });

    it('matches no request and no request id', async () => {
      const variables = { filter: { tool: { eq: text } } };
      const query = 'query($filter: InterruptFilterInput) { interrupts(filter: $filter) { nodes { id } } }';
      expect((await ask(api, query, { key, variables })).errors).toEqual([]);
      const body = { requestId: text, jobId, action: 'approve' };
      expect((await api.call('POST', '/api/workflows/hitl', { key, body })).status).toBe(404);
    });
  });
});
