import { createHash } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { graphqlMember } from '../harness/graphql-member.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { textReply } from '../harness/scripted-reply.js';
import { smallWorkflow } from '../harness/workflow-documents.js';

type People = Awaited<ReturnType<TestApi['people']['workspaceOf']>>;

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const pdf = Buffer.from('%PDF-1.7\n%%EOF\n');
const text = Buffer.from('Total due: 42 EUR');
const hashOf = (content: Buffer) => createHash('sha256').update(content).digest('hex');
const dataUrl = (mime: string, content: Buffer) => `data:${mime};base64,${content.toString('base64')}`;

let database: TestDatabase;
let model: ScriptedModel;
let test: TestApi;
let red: People;
let blue: People;

beforeAll(async () => {
  [database, model] = await Promise.all([createTestDatabase(), ScriptedModel.start()]);
  test = await startTestApi(database, { env: { MODEL_BASE_URL: model.url, TEXT_ONLY_MODELS: 'words/*' } });
  red = await test.people.workspaceOf('red');
  blue = await test.people.workspaceOf('blue');
  for (const [mime, content] of [
    ['image/png', png],
    ['application/pdf', pdf],
    ['text/plain', text],
  ] as const)
    await upload(red.member, mime, content);
});

afterAll(async () => {
  await test.close();
  await Promise.all([database.close(), model.close()]);
});

async function upload(member: TestMember, mime: string, content: Buffer): Promise<void> {
  const headers = { Authorization: `Bearer ${member.key}`, 'Content-Type': mime };
  const url = new URL('/api/files?name=given', test.url);
  const reply = await fetch(url, { method: 'POST', headers, body: new Uint8Array(content) });
  expect(reply.status).toBe(201);
}

/** The last message of the newest request that the model got. */
const lastContent = () => {
  const { messages } = model.requests.at(-1)?.json as { messages: readonly { content: unknown }[] };
  return messages.at(-1)?.content;
};

/** The content of the user's messages, as they are stored. */
const storedContents = ({ principal }: TestMember) =>
  database.prisma.withWorkspace(principal, async (tx) => {
    const rows = await tx.message.findMany({ where: { role: 'user' }, orderBy: { id: 'desc' }, take: 1 });
    const jobs = await tx.job.findMany({ orderBy: { id: 'desc' }, take: 1 });
    return JSON.stringify([rows.map(({ content }) => content), jobs.map(({ input }) => input)]);
  });

const attached = (content: Buffer, mime: string) => ({ hash: hashOf(content), mime });

describe('attachments of a chat', () => {
  it('reach the model as contents, and leave only references in stored rows', async () => {
    const member = graphqlMember(test, red.member.key);
    model.enqueue(textReply(['Seen']), textReply(['Again']));
    const attachments = [attached(png, 'image/png'), attached(pdf, 'application/pdf'), attached(text, 'text/plain')];
    const { threadId } = await member.run({ message: 'Read these', attachments });
    const parts = [
      { type: 'text', text: 'Read these' },
      { type: 'image_url', image_url: { url: dataUrl('image/png', png) } },
      { type: 'file', file: { filename: 'given', file_data: dataUrl('application/pdf', pdf) } },
      { type: 'text', text: 'File "given":\nTotal due: 42 EUR' },
    ];
    expect(lastContent()).toEqual(parts);
    const stored = await storedContents(red.member);
    expect(stored).toContain(hashOf(png));
    expect(stored).not.toContain('base64');
    await member.run({ message: 'And now?', threadId });
    const { messages } = model.requests.at(-1)?.json as { messages: readonly { content: unknown }[] };
    expect(messages[0]?.content).toEqual(parts);
  });

  it.each([
    ['a hash that no file has', { hash: '0'.repeat(64), mime: 'image/png' }, 'not_found', 'attachments'],
    ['a file of another type', { hash: hashOf(text), mime: 'image/png' }, 'bad_request', 'attachments'],
    ['a text that cannot be a hash', { hash: 'x', mime: 'image/png' }, 'bad_request', 'attachments.0.hash'],
  ])('fail the start for %s', async (...given) => {
    const [, attachment, code, field] = given;
    const started = await graphqlMember(test, red.member.key).start({ message: 'x', attachments: [attachment] });
    expect(started.userErrors).toMatchObject([{ code, field }]);
  });

  it('do not resolve in another workspace, even if it has a file with the same bytes', async () => {
    const member = graphqlMember(test, blue.member.key);
    const input = { message: 'x', attachments: [attached(png, 'image/png')] };
    expect((await member.start(input)).userErrors).toMatchObject([{ code: 'not_found', field: 'attachments' }]);
  });

  it('fail the start with a text-only model, unless they are texts', async () => {
    const member = graphqlMember(test, red.member.key);
    const input = { message: 'x', model: 'words/small' };
    const refused = await member.start({ ...input, attachments: [attached(png, 'image/png')] });
    expect(refused.userErrors).toMatchObject([{ code: 'bad_request', field: 'attachments' }]);
    model.enqueue(textReply(['Read']));
    await member.run({ ...input, attachments: [attached(text, 'text/plain')] });
    expect(JSON.stringify(lastContent())).toContain('Total due');
  });

  it('become a note for the model after their file is deleted', async () => {
    const member = graphqlMember(test, red.member.key);
    const gone = Buffer.from('soon gone');
    await upload(red.member, 'text/plain', gone);
    model.enqueue(textReply(['Seen']), textReply(['Gone']));
    const { threadId } = await member.run({ message: 'Read', attachments: [attached(gone, 'text/plain')] });
    await test.call('DELETE', `/api/files/${hashOf(gone)}`, { key: red.member.key });
    await member.run({ message: 'Again', threadId });
    expect(JSON.stringify(model.requests.at(-1)?.json)).toContain('was removed.]');
  });

  it('start a job through POST /api/jobs', async () => {
    model.enqueue(textReply(['Seen']));
    const body = {
      ...{ _background: true, _threadId: 'rest', _messageId: 'm1', messages: [{ role: 'user', content: 'Look' }] },
      attachments: [attached(png, 'image/png')],
    };
    const reply = await test.call('POST', '/api/jobs', { key: red.member.key, body });
    expect(reply.status).toBeLessThan(300);
    await graphqlMember(test, red.member.key).finished((reply.body as { jobId: string }).jobId);
    expect(lastContent()).toEqual([
      { type: 'text', text: 'Look' },
      { type: 'image_url', image_url: { url: dataUrl('image/png', png) } },
    ]);
  });
});

describe('parts of POST /v1/chat/completions', () => {
  it('become files of the workspace when they have data URLs', async () => {
    model.enqueue(textReply(['A dot']));
    const content = [
      { type: 'text', text: 'What is this?' },
      { type: 'image_url', image_url: { url: dataUrl('image/png', png), detail: 'low' } },
      { type: 'file', file: { filename: 'a.pdf', file_data: dataUrl('application/pdf', pdf) } },
    ];
    const body = { model: 'scripted', messages: [{ role: 'user', content }] };
    const reply = await test.call('POST', '/v1/chat/completions', { key: blue.owner.key, body });
    expect([reply.status, reply.body]).toMatchObject([200, { choices: [{ message: { content: 'A dot' } }] }]);
    expect(lastContent()).toEqual(content);
    expect(await storedContents(blue.owner)).not.toContain('base64');
    expect((await test.call('HEAD', `/api/files/${hashOf(png)}`, { key: blue.owner.key })).status).toBe(200);
  });
});

describe('attachments of a workflow', () => {
  it('reach the model of a node, by hash or as a data URL', async () => {
    const admin = graphqlMember(test, red.admin.key);
    const save =
      'mutation($d: JSON!) { importWorkflow(input: { definition: $d }) { workflow { id } userErrors { code } } }';
    const saved = await admin.query(save, { d: smallWorkflow({ name: 'Look', id: 'look' }) });
    const { id } = (saved['importWorkflow'] as { workflow: { id: string } }).workflow;
    await admin.query('mutation($id: ID!) { publishWorkflow(input: { id: $id }) { userErrors { code } } }', { id });
    model.enqueue(textReply(['Seen']));
    const attachments = [
      attached(png, 'image/png'),
      { type: 'file', url: dataUrl('application/pdf', pdf), name: 'b.pdf' },
    ];
    const start = `mutation($input: StartWorkflowInput!) {
      startWorkflow(input: $input) { jobId userErrors { code field message } }
    }`;
    const input = { workflowId: id, prompt: 'Look', attachments };
    const { startWorkflow } = await graphqlMember(test, red.member.key).query(start, { input });
    const { jobId } = startWorkflow as { jobId: string };
    await graphqlMember(test, red.member.key).finished(jobId);
    expect(lastContent()).toEqual([
      { type: 'text', text: 'Look' },
      { type: 'image_url', image_url: { url: dataUrl('image/png', png) } },
      { type: 'file', file: { filename: 'b.pdf', file_data: dataUrl('application/pdf', pdf) } },
    ]);
    expect(await storedContents(red.member)).not.toContain('base64');
  });
});
