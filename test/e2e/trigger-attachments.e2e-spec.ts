import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { newId } from '#platform';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { type GraphqlMember, graphqlMember } from '../harness/graphql-member.js';
import { around } from '../harness/workflow-document.js';

const SAVE = `mutation($definition: JSON!) {
  saveTrigger(input: { definition: $definition }) { trigger { id } userErrors { message } } }`;
const RUNS = `query($id: ID!) { trigger(id: $id) { runs { status error { code message retryable } } } }`;
const IMPORT = `mutation($definition: JSON!) { importWorkflow(input: { definition: $definition }) { workflow { id } } }`;
const PUBLISH = `mutation($id: ID!) { publishWorkflow(input: { id: $id }) { userErrors { code } } }`;

/** A run as `RUNS` asks for it, the newest first. */
interface Run {
  readonly status: string;
  readonly error: { readonly code: string } | null;
}

let database: TestDatabase;
let api: TestApi;
let owner: TestMember;
let admin: GraphqlMember;

beforeAll(async () => {
  database = await createTestDatabase();
  api = await startTestApi(database);
  ({ owner } = await api.people.workspaceOf('attachments'));
  admin = graphqlMember(api, owner.key);
});
afterAll(async () => {
  await api.close();
  await database.close();
});

async function save(triggerId: string, start: object): Promise<string> {
  const place = { triggerId, database: 'shop', collection: 'invoices', events: ['create'] };
  const attachments = "files.map(f, {'hash': f.sha256, 'mime': f.mime, 'name': f.name})";
  const definition = { ...place, start: { ...start, attachments } };
  const { saveTrigger } = (await admin.query(SAVE, { definition })) as {
    saveTrigger: { trigger: { id: string }; userErrors: object[] };
  }; // what the mutation asks for
  expect(saveTrigger.userErrors).toEqual([]);
  return saveTrigger.trigger.id;
}

async function publishedWorkflow(): Promise<string> {
  const definition = around(['agent', { model: 'demo', prompt: 'Answer.' }]);
  const { importWorkflow } = (await admin.query(IMPORT, { definition })) as {
    importWorkflow: { workflow: { id: string } };
  }; // as asked
  const { id } = importWorkflow.workflow;
  await admin.query(PUBLISH, { id });
  return id;
}

/** Stores a text in the workspace and returns its hash. */
async function uploadText(body: string): Promise<string> {
  const headers = { Authorization: `Bearer ${owner.key}`, 'Content-Type': 'text/plain' };
  const reply = await fetch(new URL('/api/files', api.url), { method: 'POST', headers, body });
  return ((await reply.json()) as { hash: string }).hash; // what the route returns
}

async function publishFile(sha256: string): Promise<void> {
  const file = { sha256, mime: 'text/plain', name: 'a/due.txt', size: 17 };
  const place = {
    type: 'create',
    collection: 'invoices',
    documentId: newId(),
    lsn: newId(),
    timestamp: 1_700_000_000_000,
  };
  const body = { changes: [{ ...place, document: { files: [file] } }] };
  const reply = await api.call('POST', '/api/triggers/shop/changes', { key: owner.key, body });
  expect(reply).toMatchObject({ status: 202, body: { accepted: 1 } });
}

/** The newest run of each trigger, once so many have ended. */
const newestRuns = (triggers: readonly string[], count: number) =>
  eventually(`each trigger has ended ${count} runs`, async () => {
    const found = await Promise.all(triggers.map((id) => admin.query(RUNS, { id })));
    const runs = found.map(({ trigger }) => (trigger as { runs: Run[] }).runs);
    const areEnded = runs.flat().every(({ status }) => status !== 'DUE');
    return areEnded && runs.every(({ length }) => length === count) ? runs.map(([newest]) => newest) : undefined;
  });

const inputsOfJobs = () =>
  database.postgres.withWorkspaceSql(owner.principal.workspaceId, async (client) => {
    const { rows } = await client.query<{ input: string }>('SELECT input::text FROM job');
    return rows.map(({ input }) => input);
  });

describe('trigger with start.attachments', () => {
  it('attaches files of the workspace to a chat and a workflow, and fails for a file that it does not have', async () => {
    const workflow = await publishedWorkflow();
    const triggers = [await save('chat', {}), await save('flow', { kind: 'workflow', workflow })];

    const hash = await uploadText('Total due: 42 EUR');
    await publishFile(hash);
    expect((await newestRuns(triggers, 1)).map((run) => run?.status)).toEqual(['STARTED', 'STARTED']);
    const inputs = await inputsOfJobs();
    expect(inputs).toHaveLength(2);
    const reference = new RegExp(`"(?:file_id": "|url": "file:)${hash}"`);
    for (const input of inputs) {
      expect(input).toMatch(reference);
      expect(input).toContain('"due.txt"');
    }

    await publishFile('0'.repeat(64));
    for (const run of await newestRuns(triggers, 2))
      expect(run).toMatchObject({ status: 'FAILED', error: { code: 'not_found', retryable: false } });
  });
});
