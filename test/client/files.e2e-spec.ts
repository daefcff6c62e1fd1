import { Readable } from 'node:stream';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createNightshift, type Nightshift } from '@nightshift/client';
import { ImportWorkflowDocument, PublishWorkflowDocument } from '@nightshift/client/operations';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { startHttpTarget } from '../harness/http-target.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { textReply } from '../harness/scripted-reply.js';
import { around } from '../harness/workflow-document.js';

let database: TestDatabase;
let model: ScriptedModel;
let api: TestApi;
let member: TestMember;
let viewer: TestMember;
let nightshift: Nightshift;

beforeAll(async () => {
  database = await createTestDatabase();
  model = await ScriptedModel.start();
  const env = { MODEL_BASE_URL: model.url, MAX_FILE_BYTES: '4000000', FILE_BYTES_PER_WORKSPACE: '6000000' };
  api = await startTestApi(database, { env });
  ({ owner: member, viewer } = await api.people.workspaceOf('files'));
  nightshift = createNightshift({ url: api.url, token: member.key });
});
afterAll(async () => {
  nightshift.close();
  await api.close();
  await model.close();
  await database.close();
});

const text = 'Total due: 42 EUR';
const bytes = new TextEncoder().encode(text);
const uploaded = { hash: expect.stringMatching(/^[0-9a-f]{64}$/), mime: 'text/plain', size: 17, name: 'invoice.txt' };
const named = { mime: 'text/plain', name: 'invoice.txt' };

/** A stream that never ends, and how many pieces were taken of it. */
function endless() {
  const stream = { taken: 0, cancelled: false, content: new ReadableStream<Uint8Array>() };
  stream.content = new ReadableStream({
    pull: (controller) => {
      stream.taken += 1;
      controller.enqueue(new Uint8Array(65_536));
    },
    cancel: () => {
      stream.cancelled = true;
    },
  });
  return stream;
}

describe('NightshiftClient files', () => {
  it('uploads a blob, bytes and streams, and downloads the same content', async () => {
    const file = await nightshift.files.upload(new Blob([text], { type: 'text/plain' }), { name: 'invoice.txt' });
    expect(file).toEqual(uploaded);
    const contents = [bytes, new Blob([text]).stream(), Readable.from([bytes.subarray(0, 5), bytes.subarray(5)])];
    for (const content of contents) expect(await nightshift.files.upload(content, named)).toEqual(file);
    const named2 = new File(['other'], 'other.txt', { type: 'text/plain' });
    expect(await nightshift.files.upload(named2)).toMatchObject({ name: 'other.txt', size: 5 });
    const content = await nightshift.files.download(file.hash);
    expect(content.type).toBe('text/plain');
    expect(await content.text()).toBe(text);
  });

  it('throws the error of the server for a refused upload or download', async () => {
    const refused = (code: string) => ({ name: 'NightshiftError', code, requestId: expect.any(String) });
    const { files } = nightshift;
    await expect(files.upload(bytes, { mime: 'text/html' })).rejects.toMatchObject(refused('unsupported_media_type'));
    await expect(files.upload(new Uint8Array(), { mime: 'text/plain' })).rejects.toMatchObject(refused('bad_request'));
    await expect(files.upload(new Uint8Array(4_000_001), { mime: 'text/plain' })).rejects.toMatchObject({
      ...refused('too_large'),
      retryable: false,
    });
    await expect(files.download('0'.repeat(64))).rejects.toMatchObject(refused('not_found'));
    const reader = createNightshift({ url: api.url, token: viewer.key });
    await expect(reader.files.upload(bytes, named)).rejects.toMatchObject(refused('forbidden'));
    reader.close();
  });

  it('stops reading a stream or a download at maxBytes', async () => {
    const stream = endless();
    await expect(nightshift.files.upload(stream.content, { ...named, maxBytes: 200_000 })).rejects.toMatchObject({
      code: 'too_large',
    });
    expect(stream).toMatchObject({ cancelled: true });
    expect(stream.taken).toBeLessThan(10);
    const { hash } = await nightshift.files.upload(new Uint8Array(2_000_000).fill(97), { mime: 'text/plain' });
    await expect(nightshift.files.download(hash, { maxBytes: 1_000 })).rejects.toMatchObject({ code: 'too_large' });
    expect((await nightshift.files.download(hash)).size).toBe(2_000_000);
  });

  it('sends an upload again when the connection was lost', async () => {
    let requests = 0;
    const server = await startHttpTarget((_request, response) => {
      requests += 1;
      if (requests < 3) response.destroy();
      else response.writeHead(201).end(JSON.stringify({ hash: 'h', mime: 'text/plain', bytes: 17, name: null }));
    });
    const client = createNightshift({ url: server.url, token: 'any', reconnect: { firstDelayMs: 1 } });
    expect(await client.files.upload(bytes, { mime: 'text/plain' })).toMatchObject({ hash: 'h', size: 17 });
    expect(requests).toBe(3);
    client.close();
    await server.close();
  });

  it('attaches an uploaded file to a chat and to a workflow', async () => {
    const file = await nightshift.files.upload(bytes, named);
    const sent = () => JSON.stringify(model.requests.at(-1)?.json['messages']);
    model.enqueue(textReply(['42 EUR']), textReply(['42 EUR']));
    const chat = await nightshift.startChat({ message: 'What is due?', attachments: [file] });
    expect(await chat.text()).toBe('42 EUR');
    expect(sent()).toContain(`File \\"invoice.txt\\":\\n${text}`);

    const definition = around(['agent', { model: 'scripted', prompt: 'Answer.' }]);
    const { importWorkflow } = await nightshift.mutate(ImportWorkflowDocument, { input: { definition } });
    const workflowId = importWorkflow.workflow?.id ?? '';
    await nightshift.mutate(PublishWorkflowDocument, { input: { id: workflowId } });
    const job = await nightshift.startWorkflow({ workflowId, prompt: 'What is due?', attachments: [file] });
    expect(await job.text()).toContain('42 EUR');
    expect(sent()).toContain(text);
    model.assertDone();
  });
});
