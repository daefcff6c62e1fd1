import { createHash } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { Files } from '#files';
import { Retention } from '#jobs';
import { newId } from '#platform';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { graphqlMember } from '../harness/graphql-member.js';
import { RawConnection } from '../harness/raw-http.js';
import { smallWorkflow } from '../harness/workflow-documents.js';

type People = Awaited<ReturnType<TestApi['people']['workspaceOf']>>;

/** The smallest PNG that decoders accept. */
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const hashOf = (content: Buffer) => createHash('sha256').update(content).digest('hex');

let database: TestDatabase;
let test: TestApi;
let red: People;
let blue: People;

beforeAll(async () => {
  database = await createTestDatabase();
  const env = { MAX_FILE_BYTES: '2000000', FILE_BYTES_PER_WORKSPACE: '6000000' };
  test = await startTestApi(database, { takesJobs: false, env });
  red = await test.people.workspaceOf('red');
  blue = await test.people.workspaceOf('blue');
});

afterAll(async () => {
  await test.close();
  await database.close();
});

const bearer = ({ key }: TestMember) => ({ Authorization: `Bearer ${key}` });

async function upload(member: TestMember, content: Buffer, { type = 'text/plain', name = '' } = {}) {
  const url = new URL(`/api/files${name === '' ? '' : `?name=${encodeURIComponent(name)}`}`, test.url);
  const headers = { ...bearer(member), 'Content-Type': type };
  const reply = await fetch(url, { method: 'POST', headers, body: new Uint8Array(content) });
  return { status: reply.status, body: (await reply.json()) as Record<string, unknown> };
}

function open(member: TestMember, hash: string, init: { method?: string; headers?: Record<string, string> } = {}) {
  const headers = { ...bearer(member), ...init.headers };
  return fetch(new URL(`/api/files/${hash}`, test.url), { ...init, headers });
}

describe('POST /api/files', () => {
  it('stores a content once per workspace and returns its hash', async () => {
    const file = { hash: hashOf(png), mime: 'image/png', bytes: png.length, name: 'dot.png' };
    expect(await upload(red.member, png, { type: 'image/png', name: 'a/dot.png' })).toEqual({
      status: 201,
      body: file,
    });
    expect(await upload(red.owner, png, { type: 'image/png', name: 'again.png' })).toEqual({ status: 201, body: file });
    const parallel = await Promise.all(Array.from({ length: 4 }, () => upload(red.owner, Buffer.from('same'))));
    expect(new Set(parallel.map(({ status, body }) => `${status} ${String(body['hash'])}`)).size).toBe(1);
  });

  it('stores JSON unchanged, also beyond the size limit of JSON requests', async () => {
    const content = Buffer.from(`[${'{},'.repeat(120_000)}{}]  `);
    const { body } = await upload(red.member, content, { type: 'application/json' });
    expect(body).toMatchObject({ hash: hashOf(content), bytes: content.length });
  });

  it.each([
    ['a type that is not allowed', { type: 'text/html', content: Buffer.from('<p>') }, [415, 'unsupported_media_type']],
    ['no type', { type: '', content: Buffer.from('a') }, [415, 'unsupported_media_type']],
    ['an image declared as text', { type: 'text/plain', content: png }, [415, 'unsupported_media_type']],
    [
      'text declared as an image',
      { type: 'image/png', content: Buffer.from('<svg/>') },
      [415, 'unsupported_media_type'],
    ],
    ['no content', { type: 'text/plain', content: Buffer.alloc(0) }, [400, 'bad_request']],
    ['a content over the limit', { type: 'text/plain', content: Buffer.alloc(2_000_001, 'a') }, [413, 'too_large']],
  ])('rejects %s', async (_, { type, content }, refusal) => {
    const reply = await upload(red.member, content, { type });
    expect([reply.status, reply.body['code']]).toEqual(refusal);
  });

  it('stops reading an endless body at the limit', async () => {
    const headers = { ...bearer(red.member), 'Content-Type': 'text/plain', 'Transfer-Encoding': 'chunked' };
    const connection = RawConnection.send(test.url, { path: '/api/files', headers });
    const written = await connection.writeUntilClosed(Buffer.from(`10000\r\n${'a'.repeat(65_536)}\r\n`));
    expect(await connection.status()).toBe(413);
    expect(written).toBeLessThan(40_000_000);
  });

  it.each([
    ['a caller without a credential', {}, 401],
    ['a viewer', { viewer: true }, 403],
  ])('rejects %s before a byte of the body arrives', async (_, { viewer = false }: { viewer?: boolean }, status) => {
    const headers = { 'Content-Type': 'text/plain', 'Content-Length': '1000', ...(viewer ? bearer(red.viewer) : {}) };
    const connection = RawConnection.send(test.url, { path: '/api/files', headers });
    expect(await connection.status()).toBe(status);
    connection.close();
  });

  it('rejects a compressed body', async () => {
    const headers = { ...bearer(red.member), 'Content-Type': 'text/plain', 'Content-Encoding': 'gzip' };
    const reply = await fetch(new URL('/api/files', test.url), { method: 'POST', headers, body: 'x' });
    expect(reply.status).toBe(415);
  });

  it('counts a small file as 4 KiB', async () => {
    const { workspaceId, userId: createdBy } = (await test.people.workspaceOf('small')).owner.principal;
    const files = test.api.app.get(Files);
    const save = (text: string) =>
      files.save({ workspaceId, createdBy, content: Buffer.from(text), mime: 'text/plain', name: null });
    const row = {
      workspaceId,
      mime: 'text/plain',
      bytes: 1,
      store: 'postgres',
      keptUntil: new Date(Date.now() + 60_000),
    };
    const hashes = Array.from({ length: Math.floor(6_000_000 / 4_096) - 1 }, (_, i) => hashOf(Buffer.from(`row ${i}`)));
    await database.prisma.withWorkspace({ workspaceId }, (tx) =>
      tx.storedFile.createMany({ data: hashes.map((hash) => ({ ...row, id: newId(), hash })) }),
    );
    await save('the last that fits');
    await expect(save('too many')).rejects.toMatchObject({ code: 'limit_reached' });
  });

  it('limits the uploads of a user in a minute', async () => {
    const limited = await startTestApi(database, { takesJobs: false, env: { UPLOADS_PER_MINUTE: '2' } });
    try {
      const { owner, member } = await limited.people.workspaceOf('busy');
      const send = async ({ key }: TestMember, text: string) => {
        const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'text/plain' };
        return fetch(new URL('/api/files', limited.url), { method: 'POST', headers, body: text });
      };
      for (const text of ['1', '2']) expect((await send(owner, text)).status).toBe(201);
      const refused = await send(owner, '3');
      expect(refused.status).toBe(429);
      expect(await refused.json()).toMatchObject({ code: 'rate_limited', limit: 'UPLOADS_PER_MINUTE', limitValue: 2 });
      expect((await send(member, '3')).status).toBe(201);
    } finally {
      await limited.close();
    }
  });

  it('rejects uploads over the quota of the workspace, also parallel ones', async () => {
    const people = await test.people.workspaceOf('full');
    const contents = ['a', 'b', 'c', 'd'].map((letter) => Buffer.alloc(1_900_000, letter));
    const replies = await Promise.all(contents.map((content) => upload(people.owner, content)));
    expect(replies.map(({ status }) => status).toSorted()).toEqual([201, 201, 201, 409]);
    const refused = replies.find(({ status }) => status === 409);
    expect(refused?.body).toMatchObject({
      code: 'limit_reached',
      limit: 'FILE_BYTES_PER_WORKSPACE',
      limitValue: 6_000_000,
    });
  });
});

describe('GET /api/files/{hash}', () => {
  const text = Buffer.from('0123456789'.repeat(150_000));
  const hash = hashOf(text);

  beforeAll(async () => {
    await upload(red.member, text, { name: 'digits "1".txt' });
  });

  it('returns the content as a download with headers that keep browsers from running it', async () => {
    const reply = await open(red.viewer, hash);
    expect(Buffer.from(await reply.arrayBuffer()).equals(text)).toBe(true);
    expect(Object.fromEntries(reply.headers)).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'content-length': '1500000',
      'content-disposition': 'attachment; filename="digits \\"1\\".txt"',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
      'cache-control': 'private, no-cache',
      etag: `"${hash}"`,
    });
  });

  it('returns only headers for HEAD, and 304 for a matching If-None-Match', async () => {
    const head = await open(red.viewer, hash, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, '1500000', '']);
    const cached = await open(red.viewer, hash, {
      headers: { 'If-None-Match': `"${hash}"`, 'Cache-Control': 'max-age=0' },
    });
    expect([cached.status, await cached.text()]).toEqual([304, '']);
  });

  it.each([
    ['bytes=3-5', [206, '345', 'bytes 3-5/1500000']],
    ['bytes=-2', [206, '89', 'bytes 1499998-1499999/1500000']],
    ['bytes=2000000-', [416, '', 'bytes */1500000']],
  ])('respects Range %s', async (range, expected) => {
    const reply = await open(red.viewer, hash, { headers: { Range: range } });
    expect([reply.status, await reply.text(), reply.headers.get('content-range')]).toEqual(expected);
  });

  it('responds 404 to the hash of a file in another workspace, even if both uploaded the same bytes', async () => {
    const secret = Buffer.from('bytes of red');
    await upload(red.member, secret);
    expect((await open(blue.owner, hashOf(secret))).status).toBe(404);
    expect((await open(blue.owner, hashOf(secret), { method: 'DELETE' })).status).toBe(404);
    await upload(blue.member, secret, { name: 'blue' });
    expect((await open(blue.owner, hashOf(secret), { method: 'DELETE' })).status).toBe(204);
    expect(await (await open(red.owner, hashOf(secret))).text()).toBe('bytes of red');
  });

  it.each(['x', 'A'.repeat(64), '0'.repeat(64)])('responds 404 to the unknown hash %s', async (unknown) => {
    expect((await open(red.owner, unknown)).status).toBe(404);
  });
});

describe('DELETE /api/files/{hash}', () => {
  it('lets members delete their own files, and admins all', async () => {
    const [own, other] = [Buffer.from('of the member'), Buffer.from('of the owner')];
    await upload(red.member, own);
    await upload(red.owner, other);
    const remove = async (member: TestMember, content: Buffer) =>
      (await open(member, hashOf(content), { method: 'DELETE' })).status;
    expect(await remove(red.viewer, own)).toBe(403);
    expect(await remove(red.member, other)).toBe(403);
    expect(await remove(red.member, own)).toBe(204);
    expect(await remove(red.member, own)).toBe(404);
    expect(await remove(red.admin, other)).toBe(204);
    expect((await open(red.owner, hashOf(own))).status).toBe(404);
    expect((await upload(red.member, own)).status).toBe(201);
    expect(await (await open(red.owner, hashOf(own))).text()).toBe('of the member');
  });
});

describe('a start with a file', () => {
  it('returns the job of a repeated idempotency key also after the file was deleted', async () => {
    const content = Buffer.from('of one start');
    await upload(red.member, content);
    const body = {
      messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: hashOf(content), mime: 'text/plain' } }] }],
      ...{
        model: 'm',
        _threadId: newId(),
        _messageId: newId(),
        _startAt: new Date(Date.now() + 86_400_000).toISOString(),
      },
    };
    const start = async (key: string) => {
      const headers = { ...bearer(red.member), 'Content-Type': 'application/json', 'Idempotency-Key': key };
      const reply = await fetch(new URL('/api/jobs', test.url), {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      });
      return (await reply.json()) as Record<string, unknown>;
    };
    const first = await start('once');
    expect(first).toMatchObject({ jobId: expect.any(String) });
    await open(red.member, hashOf(content), { method: 'DELETE' });
    expect(await start('once')).toMatchObject({ jobId: first['jobId'] });
    expect(await start('another')).toMatchObject({ code: 'not_found' });
  });
});

describe('the GraphQL API of files', () => {
  it('lists, finds and deletes only files of the workspace', async () => {
    const people = await test.people.workspaceOf('green');
    const contents = ['1', '2', '3'].map((text) => Buffer.from(text));
    for (const content of contents) await upload(people.member, content, { name: `${content.toString()}.txt` });
    const member = graphqlMember(test, people.member.key);
    const list = `query($after: String) { files(first: 2, after: $after) { nodes { hash name mime bytes } pageInfo { endCursor hasNextPage } } }`;
    interface Listed {
      readonly nodes: readonly { name: string }[];
      readonly pageInfo: { readonly endCursor: string; readonly hasNextPage: boolean };
    }
    const first = (await member.query(list))['files'] as Listed;
    expect(first.nodes.map(({ name }) => name)).toEqual(['3.txt', '2.txt']);
    const second = (await member.query(list, { after: first.pageInfo.endCursor }))['files'] as Listed;
    expect(second.nodes.map(({ name }) => name)).toEqual(['1.txt']);
    expect(second.pageInfo.hasNextPage).toBe(false);
    const find = 'query($hash: String!) { file(hash: $hash) { name bytes createdAt } }';
    const hash = hashOf(Buffer.from('1'));
    expect(await member.query(find, { hash })).toMatchObject({ file: { name: '1.txt', bytes: 1 } });
    expect(await graphqlMember(test, blue.owner.key).query(find, { hash })).toEqual({ file: null });
    const remove =
      'mutation($hash: String!) { deleteFile(input: { hash: $hash }) { file { name } userErrors { code } } }';
    expect(await member.query(remove, { hash })).toEqual({ deleteFile: { file: { name: '1.txt' }, userErrors: [] } });
    expect(await member.query(remove, { hash })).toEqual({
      deleteFile: { file: null, userErrors: [{ code: 'not_found' }] },
    });
  });
});

describe('retention of files', () => {
  it('keeps an expired file of a delayed chat or workflow until its job has ended', async () => {
    const people = await test.people.workspaceOf('later');
    const { workspaceId } = people.owner.principal;
    const member = graphqlMember(test, people.owner.key);
    const [chat, workflow] = [Buffer.from('for the chat'), Buffer.from('for the workflow')] as const;
    for (const content of [chat, workflow]) await upload(people.owner, content);
    const attachmentsOf = (content: Buffer) => [{ hash: hashOf(content), mime: 'text/plain' }];
    const startAt = new Date(Date.now() + 86_400_000).toISOString();
    const started = await member.query(
      'mutation($input: StartChatInput!) { startChat(input: $input) { jobId userErrors { message } } }',
      { input: { message: 'Read this', attachments: attachmentsOf(chat), startAt, model: 'm' } },
    );
    expect(started).toMatchObject({ startChat: { jobId: expect.any(String), userErrors: [] } });
    const saved = await member.query(
      'mutation($d: JSON!) { importWorkflow(input: { definition: $d }) { workflow { id } userErrors { code } } }',
      { d: smallWorkflow({ name: 'Later', id: 'later' }) },
    );
    const { id } = (saved['importWorkflow'] as { workflow: { id: string } }).workflow;
    await member.query('mutation($id: ID!) { publishWorkflow(input: { id: $id }) { userErrors { code } } }', { id });
    const run = await member.query(
      'mutation($input: StartWorkflowInput!) { startWorkflow(input: $input) { jobId userErrors { message } } }',
      { input: { workflowId: id, prompt: 'Go', attachments: attachmentsOf(workflow), startAt } },
    );
    expect(run).toMatchObject({ startWorkflow: { jobId: expect.any(String), userErrors: [] } });
    const expire = () =>
      database.prisma.withWorkspace({ workspaceId }, (tx) =>
        tx.storedFile.updateMany({ where: { workspaceId }, data: { keptUntil: new Date(0) } }),
      );
    const statuses = () =>
      Promise.all([chat, workflow].map(async (content) => (await open(people.owner, hashOf(content))).status));
    const stored = await database.prisma.withWorkspace({ workspaceId }, (tx) =>
      tx.job.findMany({ where: { workspaceId }, orderBy: { id: 'asc' }, select: { fileHashes: true } }),
    );
    expect(stored.map(({ fileHashes }) => fileHashes)).toEqual([[hashOf(chat)], [hashOf(workflow)]]);
    await expire();
    await test.api.app.get(Retention).pass();
    expect(await statuses()).toEqual([200, 200]);
    for (const reply of [started['startChat'], run['startWorkflow']]) {
      const { jobId } = reply as { jobId: string };
      await member.query('mutation($id: ID!) { cancelJob(input: { jobId: $id }) { userErrors { message } } }', {
        id: jobId,
      });
    }
    await expire();
    await test.api.app.get(Retention).pass();
    expect(await statuses()).toEqual([404, 404]);
  });

  it('removes expired files, except those that a message refers to', async () => {
    const people = await test.people.workspaceOf('old');
    const { workspaceId, userId } = people.owner.principal;
    const [kept, unused, recent] = ['kept', 'unused', 'recent'].map((text) => Buffer.from(text)) as [
      Buffer,
      Buffer,
      Buffer,
    ];
    for (const content of [kept, unused, recent]) await upload(people.owner, content);
    await database.prisma.withWorkspace({ workspaceId }, async (tx) => {
      const hashes = [hashOf(kept), hashOf(unused)];
      await tx.storedFile.updateMany({ where: { hash: { in: hashes } }, data: { keptUntil: new Date(0) } });
      const id = newId();
      await tx.thread.create({ data: { workspaceId, id, createdBy: userId } });
      const file = { type: 'file', file: { file_id: hashOf(kept), mime: 'text/plain' } };
      const content = [{ type: 'text', text: 'Read this' }, file];
      await tx.message.create({ data: { workspaceId, id, threadId: id, position: 1, role: 'user', content } });
    });
    await test.api.app.get(Retention).pass();
    const statuses = [kept, unused, recent].map(async (content) => (await open(people.owner, hashOf(content))).status);
    expect(await Promise.all(statuses)).toEqual([200, 404, 200]);
    const chunks = await database.prisma.withWorkspace({ workspaceId }, (tx) => tx.fileChunk.count());
    expect(chunks).toBe(2);
  });
});
