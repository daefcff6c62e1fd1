import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { documentExample } from '../harness/document-example.js';
import { eventually } from '../harness/eventually.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { createGate, deltaChunk, textChunk, textReply } from '../harness/scripted-reply.js';
import { TcpProxy } from '../harness/tcp-proxy.js';

const run = promisify(execFile);
/** Where nothing listens. */
const closedPort = 'http://127.0.0.1:1';

let database: TestDatabase;
let model: ScriptedModel;
let api: TestApi;
let member: TestMember;
let proxy: TcpProxy;
let folder: string;

beforeAll(async () => {
  database = await createTestDatabase();
  model = await ScriptedModel.start();
  api = await startTestApi(database, { env: { MODEL_BASE_URL: model.url, DELTA_FLUSH_MS: '5' } });
  member = (await api.people.workspaceOf('recipes')).owner;
  proxy = await TcpProxy.start(api.url);
  // Packages are found from here, and Node runs TypeScript outside of node_modules only.
  folder = mkdtempSync(join(process.cwd(), 'dist', 'recipes-'));
  writeFileSync(join(folder, 'follow-text.mts'), documentExample('docs/clients.md', 'follow-text'));
});
afterEach(() => {
  model.assertDone();
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await proxy.close();
  await api.close();
  await model.close();
  await database.close();
});

describe('client recipes', () => {
  it.each(['graphql-ws', 'apollo', 'urql'])(
    'the %s recipe reads the exact text after lost connections',
    async (name) => {
      const gates = [createGate(), createGate()];
      const file = join(folder, `${name}.mts`);
      writeFileSync(file, documentExample('docs/clients.md', `recipe-${name}`));
      const role = deltaChunk({ role: 'assistant', content: '' });
      // One round is withdrawn, and the connection is cut before each piece of text.
      model.enqueue({ body: [role, textChunk('It is fou'), ...gates.slice(0, 1)], end: 'destroy' });
      const { body } = textReply([' five', ', my', ' friend']);
      model.enqueue({ body: [role, textChunk('It is'), ...gates.slice(1), ...body] });

      const env = { PATH: process.env['PATH'], NIGHTSHIFT_URL: proxy.url, NIGHTSHIFT_KEY: member.key };
      const running = run(process.execPath, [file], { env });
      for (const gate of gates) {
        await viewers(1);
        proxy.target = closedPort; // no client reconnects before its loss was noticed
        proxy.cut('reset');
        await viewers(0);
        gate.open();
        proxy.target = api.url;
      }
      expect((await running).stdout).toBe('It is five, my friend\n');
    },
  );
});

/** Resolves when so many follow a job. */
async function viewers(count: number): Promise<void> {
  await eventually(`${count} are watching`, async () => {
    const metric = await api.platform.metrics.registry.getSingleMetric('nightshift_viewers')?.get();
    return metric?.values[0]?.value === count ? true : undefined;
  });
}
