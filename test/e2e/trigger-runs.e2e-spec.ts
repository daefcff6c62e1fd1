import { randomUUID } from 'node:crypto';

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { Role } from '#auth';
import { newId } from '#platform';

import { TriggerStarts } from '../../libs/triggers/src/inbound/trigger-starts.service.js';
import { TriggerWorker } from '../../libs/triggers/src/inbound/trigger-worker.js';
import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { documentExample } from '../harness/document-example.js';
import { eventually } from '../harness/eventually.js';
import { ask } from '../harness/graphql.js';
import { type GraphqlMember, graphqlMember } from '../harness/graphql-member.js';
import { refuseRow } from '../harness/refuse-row.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { around } from '../harness/workflow-document.js';

describe('runs of triggers', () => {
  const SAVE = `mutation($definition: JSON!, $enabled: Boolean! = true) { saveTrigger(input: { definition: $definition, enabled: $enabled }) { trigger { id } userErrors { message } } }`;
  const RUNS = `query($id: ID!, $status: TriggerRunStatus) { trigger(id: $id) { runs(status: $status) { id status jobId tryAt } } }`;
  const CANCEL = `mutation($id: ID!) { cancelTriggerRun(input: { id: $id }) { run { status tryAt } userErrors { code } } }`;
  const CHECK = `query($definition: JSON!) { validateTrigger(definition: $definition) { definition userErrors { message } } }`;
  const TEST = `query($input: TestTriggerInput!) { testTrigger(input: $input) { fires problem input { prompt thread } } }`;

  interface Run {
    readonly id: string;
    readonly status: string;
    readonly jobId: string | null;
    readonly tryAt: string | null;
  }

  let database: TestDatabase;
  let model: ScriptedModel;
  let api: TestApi;
  let people: Record<Role, TestMember>;
  let admin: GraphqlMember;

  beforeAll(async () => {
    database = await createTestDatabase();
    model = await ScriptedModel.start();
    model.answer(() => ({ body: [], end: 'hang' })); // jobs do not end
    api = await startTestApi(database, { env: { TRIGGERS_ALLOW_UNSIGNED: 'true', MODEL_BASE_URL: model.url } });
  });
  beforeEach(async () => {
    people = await api.people.workspaceOf(`runs-${newId()}`);
    admin = graphqlMember(api, people.admin.key);
  });
  afterAll(async () => {
    await model.close();
    await api.close();
    await database.close();
  });

  const save = async (definition: object): Promise<string> => {
    const { saveTrigger } = await admin.query(SAVE, { definition });
    const { trigger, userErrors } = saveTrigger as { trigger: { id: string }; userErrors: unknown[] }; // as the query asks
    expect(userErrors).toEqual([]);
    return trigger.id;
  };
  const hook = (start: object) => save({ triggerId: 'hook', source: 'webhook', start });
  const runsOf = async (id: string, status?: string): Promise<readonly Run[]> => {
    const { trigger } = await admin.query(RUNS, { id, status });
    return (trigger as { runs: Run[] }).runs; // as the query asks
  };
  const send = async (id: string, deliveryId: string) => {
    const headers = { 'content-type': 'application/json' };
    expect(await api.call('POST', `/hooks/${id}`, { body: { deliveryId }, headers })).toMatchObject({ body: 'OK' });
  };
  const jobCount = () =>
    database.postgres.withWorkspaceSql(people.admin.principal.workspaceId, async (client) => {
      const { rows } = await client.query<{ count: number }>('SELECT count(*)::int AS count FROM job');
      return rows[0]?.count;
    });

  describe('cancelTriggerRun', () => {
    it('ends a delayed run once, and neither its start nor a repetition starts a job', async () => {
      const id = await hook({ prompt: "'later'", delay: '1h' });
      await send(id, 'd-1');
      const [run] = await runsOf(id, 'DUE');
      if (run === undefined) throw new Error('the run does not wait');
      const { workspaceId } = people.admin.principal;
      const replies = await Promise.all([1, 2].map(() => admin.query(CANCEL, { id: run.id })));
      const ended = replies.map(({ cancelTriggerRun }) => cancelTriggerRun);
      expect(ended).toContainEqual({ run: { status: 'CANCELLED', tryAt: null }, userErrors: [] });
      expect(ended).toContainEqual({ run: null, userErrors: [{ code: 'conflict' }] });
      expect(await runsOf(id, 'DUE')).toEqual([]);
      await send(id, 'd-1');
      await api.api.app.get(TriggerStarts).start({ workspaceId, runId: run.id });
      expect(await runsOf(id)).toMatchObject([{ status: 'CANCELLED', jobId: null }]);
      expect(await jobCount()).toBe(0);
    });

    it('refuses a run that has started its job', async () => {
      const id = await hook({});
      await send(id, 'd-1');
      const run = await eventually('the job is started', async () => (await runsOf(id, 'STARTED'))[0]);
      const example = documentExample('docs/triggers.md', 'cancel').replace(/"[0-9a-f-]{36}"/, JSON.stringify(run.id));
      expect(await admin.query(example)).toMatchObject({ cancelTriggerRun: { userErrors: [{ code: 'conflict' }] } });
      expect(await runsOf(id)).toMatchObject([{ status: 'STARTED', jobId: run.jobId }]);
    });

    it('finds only runs of the own workspace, for those who manage its triggers', async () => {
      const id = await hook({ delay: '1h' });
      await send(id, 'd-1');
      const [run] = await runsOf(id, 'DUE');
      const others = await api.people.workspaceOf(`others-${newId()}`);
      for (const { key } of [people.member, people.viewer, others.owner]) {
        const reply = await ask(api, CANCEL, { key, variables: { id: run?.id } });
        expect(JSON.stringify(reply)).toMatch(/NOT_FOUND|FORBIDDEN/i);
      }
      expect(await admin.query(CANCEL, { id: randomUUID() })).toMatchObject({
        cancelTriggerRun: { userErrors: [{ code: 'not_found' }] },
      });
      expect(await runsOf(id, 'DUE')).toHaveLength(1);
    });
  });

  it('store the hashes of files in the event of a delayed run, for the retention of files', async () => {
    const id = await hook({ delay: '1h' });
    const headers = { 'content-type': 'application/json' };
    const body = { deliveryId: 'd-1', attachments: ['a'.repeat(64), `file:${'b'.repeat(64)}`] };
    expect(await api.call('POST', `/hooks/${id}`, { body, headers })).toMatchObject({ body: 'OK' });
    const stored = await database.prisma.withWorkspace(people.admin.principal, (tx) =>
      tx.triggerRun.findMany({ where: { triggerId: id }, select: { fileHashes: true } }),
    );
    expect(stored).toEqual([{ fileHashes: ['a'.repeat(64), 'b'.repeat(64)] }]);
  });

  const run = async (sql: string, values: readonly unknown[] = []) =>
    database.postgres.withWorkspaceSql(people.admin.principal.workspaceId, async (client) => {
      const { rows } = await client.query<{ id: string; key: string; prompt: string }>(sql, [...values]);
      return rows;
    });
  const waiting = (count: number) =>
    eventually(`${count} runs wait for a job to end`, async () => {
      const rows = await run("SELECT id, key FROM trigger_run WHERE status = 'due' AND phase = 'ready' ORDER BY id");
      return rows.length === count ? rows : undefined;
    });
  const prompts = async () =>
    (await run("SELECT input->'messages'->0->>'content' AS prompt FROM job ORDER BY created_at, id")).map(
      ({ prompt }) => prompt,
    );
  const start = (runId: string | undefined) =>
    api.api.app.get(TriggerStarts).start({ workspaceId: people.admin.principal.workspaceId, runId: runId ?? '' });

  it('start when their message is lost, also after the run of another trigger that cannot be started', async () => {
    const start = { prompt: 'deliveryId', delay: '1h' };
    const hooks = [];
    for (const triggerId of ['one', 'two']) hooks.push(await save({ triggerId, source: 'webhook', start }));
    const [first = '', second = ''] = hooks;
    for (const id of hooks) await send(id, 'd-1');
    const [refused] = await runsOf(first);
    await run(
      `UPDATE trigger_run SET try_at = now() - (trigger_id = '${first}')::int * interval '1 s' - interval '1 m'`,
    );
    const allow = await refuseRow(database, { table: 'trigger_run', id: refused?.id ?? '', on: 'UPDATE' });
    try {
      await api.api.app.get(TriggerWorker).sweep();
      expect(await runsOf(first)).toMatchObject([{ status: 'DUE' }]);
      expect(await runsOf(second)).toMatchObject([{ status: 'STARTED' }]);
    } finally {
      await allow();
    }
  });

  describe('the concurrency of a trigger', () => {
    it('lets one job of parallel requests start, and the oldest run when that job has ended', async () => {
      const definition = { triggerId: 'one', source: 'webhook', concurrency: 1, start: { prompt: 'deliveryId' } };
      const id = await save(definition);
      await Promise.all(Array.from({ length: 12 }, (_, index) => send(id, `d-${index}`)));
      const [second, ...later] = await waiting(11);
      expect(await jobCount()).toBe(1);
      expect(await runsOf(id, 'STARTED')).toHaveLength(1);
      await run("UPDATE job SET status = 'cancelled', finished_at = now(), lease_owner = NULL, lease_until = NULL");
      await start(later.at(-1)?.id);
      expect((await prompts())[1]).toBe(second?.key.slice('id:'.length));
      expect(await jobCount()).toBe(2);
    });

    it('counts a run whose job is being started, and starts it again when its process has died', async () => {
      const id = await save({ triggerId: 'one', source: 'webhook', concurrency: 1, start: { delay: '1h' } });
      await send(id, 'd-1');
      await send(id, 'd-2');
      const [first, second] = await run("UPDATE trigger_run SET try_at = now(), phase = 'ready' RETURNING id");
      await run("UPDATE trigger_run SET phase = 'starting' WHERE id = $1", [first?.id]);
      await start(second?.id);
      await start(first?.id);
      expect(await jobCount()).toBe(0);
      await run("UPDATE trigger_run SET try_at = now() - interval '1 min' WHERE id = $1", [first?.id]);
      await start(first?.id);
      expect(await runsOf(id, 'STARTED')).toMatchObject([{ id: first?.id }]);
    });
  });

  describe('a run whose process died between the start and its record', () => {
    const other = { start: { prompt: "'Other: ' + deliveryId", thread: "'other'", model: 'other' } };
    it.each<[string, object | null]>([
      ['', null],
      [
        ', also if another member saves the trigger with another definition before the next attempt',
        { changes: other },
      ],
      [', also if the trigger is disabled before the next attempt', { enabled: false }],
    ])('starts no second job%s', async (_, saved) => {
      const definition = { triggerId: 'hook', source: 'webhook', start: { prompt: 'deliveryId' } };
      const id = await save(definition);
      await send(id, 'd-1');
      const { id: runId, jobId } = await eventually('the job is started', async () => (await runsOf(id, 'STARTED'))[0]);
      if (saved !== null) {
        const { changes = {}, ...rest } = saved as { readonly changes?: object };
        const variables = { definition: { ...definition, ...changes }, ...rest };
        const { saveTrigger } = await graphqlMember(api, people.owner.key).query(SAVE, variables);
        expect(saveTrigger).toMatchObject({ userErrors: [] });
      }
      const event = { type: 'webhook', timestamp: 1, path: '', before: null, document: { deliveryId: 'd-1' } };
      // As the crash leaves it: the job exists, and the run is due and reserved.
      await run(
        "UPDATE trigger_run SET status = 'due', phase = 'starting', job_id = NULL, try_at = now() - interval '1 min', event = $1",
        [JSON.stringify(event)],
      );
      await Promise.all([1, 2, 3].map(() => start(runId)));
      const ended = await eventually('the run has ended', async () =>
        (await runsOf(id)).find(({ status }) => status !== 'DUE'),
      );
      expect(ended).toMatchObject({ status: 'STARTED', jobId });
      expect(await jobCount()).toBe(1);
    });
  });

  describe('start.thread', () => {
    it('keeps the order of arrival of the runs of one thread, also after an error', async () => {
      const map = { prompt: 'deliveryId', thread: "deliveryId.startsWith('a') ? 'a' : 'b'", delay: '1h' };
      const id = await hook(map);
      for (const name of ['a-1', 'a-2', 'b-1', 'a-3']) await send(id, name);
      const runs = await run("UPDATE trigger_run SET try_at = now(), phase = 'ready' RETURNING id, key");
      const idOf = (name: string) => runs.find(({ key }) => key === `id:${name}`)?.id;
      const retry = `UPDATE trigger_run SET error = '{"code":"thread_busy","message":"full"}', try_at = now() + interval '30 s' WHERE id = $1`;
      await run(retry, [idOf('a-1')]);
      await start(idOf('a-3'));
      expect(await prompts()).toEqual(['b-1']);
      await run('UPDATE trigger_run SET try_at = now() WHERE id = $1', [idOf('a-1')]);
      await start(idOf('a-3'));
      expect(await prompts()).toEqual(['b-1', 'a-1', 'a-2', 'a-3']);
    });
  });

  describe('testTrigger', () => {
    it('shows the inputs of triggers up to 4 MiB of events, and names the reason for the others', async () => {
      const on = { collection: 'notes', events: ['create'] };
      for (let i = 0; i < 6; i++) await save({ triggerId: `note-${i}`, ...on, start: { prompt: "'short'" } });
      const document = { content: 'x'.repeat(900_000) };
      const input = { database: 'default', type: 'CREATE', collection: 'notes', document };
      const { testTrigger } = await admin.query(TEST, { input });
      const matches = testTrigger as { fires: boolean; problem: string | null; input: object | null }[]; // as the query asks
      const notShown = 'not shown: earlier triggers reached a limit of the test';
      expect(matches.map(({ fires, problem, input: given }) => [fires, problem, given !== null])).toEqual(
        Array.from({ length: 6 }, (_, i) => (i < 4 ? [true, null, true] : [true, notShown, false])),
      );
    });

    it('shows what the end of a job would start, and starts nothing', async () => {
      const { workspaceId } = people.admin.principal;
      const condition = "status == 'failed' && event.before.status == 'running'";
      const start = { prompt: "'Explain ' + id + ': ' + error.message" };
      await save({
        ...{ triggerId: 'after', database: workspaceId, collection: 'jobs', events: ['update'] },
        ...{ condition, start },
      });
      const document = { kind: 'chat', status: 'failed', error: { code: 'x', message: 'It broke' } };
      const event = { database: workspaceId, type: 'UPDATE', collection: 'jobs', documentId: 'job-1', document };
      const tested = (status: string) => admin.query(TEST, { input: { ...event, before: { kind: 'chat', status } } });
      expect((await tested('running'))['testTrigger']).toEqual([
        { fires: true, problem: null, input: { prompt: 'Explain job-1: It broke', thread: null } },
      ]);
      expect((await tested('waiting'))['testTrigger']).toEqual([{ fires: false, problem: null, input: null }]);
      expect(await jobCount()).toBe(0);
    });
  });

  describe('validateTrigger', () => {
    it('returns a definition with its defaults or the reason against it, and saves nothing', async () => {
      const definition = { triggerId: 'a', collection: 'c', events: ['create'], url: '/webhook/llm', timeout: '2s' };
      expect(await admin.query(CHECK, { definition })).toMatchObject({
        validateTrigger: { definition: { timeout: 2_000, concurrency: 16, database: 'default' }, userErrors: [] },
      });
      expect(await admin.query(CHECK, { definition: { ...definition, events: [] } })).toEqual({
        validateTrigger: { definition: null, userErrors: [{ message: 'at least one event is required' }] },
      });
      expect(await admin.query('{ triggers { nodes { id } } }')).toEqual({ triggers: { nodes: [] } });
    });
  });
});

describe('trigger with start.attachments', () => {
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
    }; // the query selects this field
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
