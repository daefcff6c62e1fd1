/* eslint-disable @typescript-eslint/no-unsafe-assignment, @typescript-eslint/no-unsafe-return -- tests know what they asked for */
import { createHmac, randomBytes } from 'node:crypto';

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { Role } from '#auth';
import { ManualClock, newId } from '#platform';

import { Hooks } from '../../libs/triggers/src/inbound/hooks.service.js';
import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { ask } from '../harness/graphql.js';
import { type GraphqlMember, graphqlMember } from '../harness/graphql-member.js';
import { WebhookReceiver } from '../harness/webhook-receiver.js';

const fields = `trigger { id origin enabled definition savedBy fired failed lastError runs { status jobId error { code message } } }
  userErrors { code field message }`;
const SAVE = `mutation($definition: JSON!, $enabled: Boolean! = true) {
  saveTrigger(input: { definition: $definition, enabled: $enabled }) { ${fields} } }`;
const DELETE = `mutation($id: ID!) { deleteTrigger(input: { id: $id }) { ${fields} } }`;
const GET = `query($id: ID!) { trigger(id: $id) { fired failed lastError runs { status jobId error { code message } } } }`;
const TEST = `query($input: TestTriggerInput!) {
  testTrigger(input: $input) { trigger { id } fires problem delivery input { prompt thread attachments { hash mime name } } } }`;

type Found = Readonly<Record<string, any>>; // eslint-disable-line @typescript-eslint/no-explicit-any -- tests know what they asked for
let database: TestDatabase;
let receiver: WebhookReceiver;
let api: TestApi;
let people: Record<Role, TestMember>;
let admin: GraphqlMember;

beforeAll(async () => {
  database = await createTestDatabase();
  receiver = await WebhookReceiver.listen();
  api = await startTestApi(database, { env: receiver.env });
});
beforeEach(async () => {
  people = await api.people.workspaceOf(`triggers-${newId()}`);
  admin = graphqlMember(api, people.admin.key);
});
afterAll(async () => {
  await api.close();
  await receiver.close();
  await database.close();
});

const chatTrigger = (changes: object = {}) => ({
  ...{ triggerId: 'on-message', database: 'shop', collection: 'users/*/messages', events: ['create'] },
  ...{ condition: "role == 'user'", start: { prompt: "'Answer: ' + content" } },
  ...changes,
});
const hookTrigger = (changes: object = {}) => ({
  ...{ triggerId: 'issues', database: 'shop', source: 'webhook', secretsRef: 'HOOK_SECRET' },
  ...{ condition: "action == 'opened'", start: { prompt: "'Triage: ' + title", thread: "'issue-' + string(number)" } },
  ...changes,
});
const save = async (definition: object, who = admin): Promise<Found> => {
  const { saveTrigger } = (await who.query(SAVE, { definition })) as Found;
  expect((saveTrigger as Found)['userErrors']).toEqual([]);
  return (saveTrigger as Found)['trigger'] as Found;
};
const shown = async (id: string): Promise<Found> => ((await admin.query(GET, { id })) as Found)['trigger'] as Found;
const jobs = () =>
  database.postgres.withWorkspaceSql(people.admin.principal.workspaceId, async (client) => {
    const { rows } = await client.query<{ id: string; input: Found }>(
      'SELECT id, input FROM job ORDER BY created_at, id',
    );
    return rows;
  });
const promptOf = (job: { readonly input: Found } | undefined): unknown =>
  (job?.input['messages'] as Found[])[0]?.['content'];
const publish = (changes: readonly object[], who = people.admin, name = 'shop') =>
  api.call('POST', `/api/triggers/${name}/changes`, { key: who.key, body: { changes } });
const change = (changes: object = {}) => ({
  ...{
    type: 'create',
    collection: 'users/7/messages',
    documentId: newId(),
    timestamp: 1_700_000_000_000,
    lsn: newId(),
  },
  document: { role: 'user', content: 'Hello' },
  ...changes,
});

const failsOften = (id: unknown, times: number) =>
  eventually('failed', async () => ((await shown(id as string))['failed'] === times ? true : undefined));
it('the server evaluates more than 100 changes, also with a trigger that a process with a slow clock saved', async () => {
  const { id } = await save(chatTrigger({ condition: 'false' }));
  const { id: newest } = await save(chatTrigger({ triggerId: 'newest', condition: 'missing' }));
  const future = `UPDATE trigger_definition SET saved_at = saved_at + interval '1 h' WHERE trigger_id = 'newest'`;
  await database.postgres.withWorkspaceSql(people.admin.principal.workspaceId, (client) => client.query(future));
  await publish(Array.from({ length: 250 }, () => change()));
  await failsOften(newest, 250);
  await save(chatTrigger({ condition: 'missing' }));
  await publish([change()]);
  await failsOften(id, 1);
});

describe('triggers for the end of jobs', () => {
  const own = (changes: object = {}) => ({
    ...{ triggerId: 'after-job', database: people.admin.principal.workspaceId, collection: 'jobs', events: ['update'] },
    ...changes,
  });
  const evaluated = () =>
    database.postgres.withWorkspaceSql(people.admin.principal.workspaceId, async (client) => {
      const { rows } = await client.query<{ isEvaluated: boolean }>(
        `SELECT NOT EXISTS (SELECT FROM document_change) AND status IN ('completed', 'failed') AS "isEvaluated" FROM job`,
      );
      return rows[0]?.isEvaluated === true ? true : undefined;
    });
  const startChat = () =>
    admin.query('mutation { startChat(input: { message: "Hello", model: "m" }) { jobId userErrors { message } } }');

  it('start one job for each ended job that meets the condition, in chains of at most 8 jobs', async () => {
    const condition =
      "kind == 'chat' && status in ['completed', 'failed'] && event.before.status == 'running' && threadId != null";
    const start = { prompt: "'Look into ' + id", model: 'm', thread: "'after'" };
    const { id } = await save(own({ condition: `${condition} && createdAt < 0.0`, start }));
    await startChat();
    await eventually('the end of the first job is evaluated', evaluated);
    await save(own({ condition: `${condition} && !has(event.document.depth)`, start, events: ['update', 'create'] }));
    const { startChat: started } = (await startChat()) as Found;
    await eventually('a chain of nine jobs', async () =>
      (await shown(id as string))['failed'] === 1 ? true : undefined,
    );
    const { lastError, fired } = await shown(id as string);
    expect({ lastError, fired }).toEqual({ lastError: 'the chain of jobs that triggers started has 8 jobs', fired: 8 });
    const prompts = (await jobs()).map(promptOf);
    expect(prompts).toHaveLength(2 + 8);
    expect(prompts[2]).toBe(`Look into ${String((started as Found)['jobId'])}`);
    expect(new Set(prompts.slice(1)).size).toBe(9);
  });
});

describe('triggers over GraphQL', () => {
  it('appear in the list and the audit when saved, replaced by their id and deleted', async () => {
    const { id } = await save(chatTrigger());
    const again = await save(chatTrigger({ condition: '' }));
    expect(again).toMatchObject({ id, origin: 'API', enabled: true, savedBy: people.admin.principal.id });
    await save(chatTrigger({ triggerId: 'second' }));
    const page = (await admin.query(
      '{ triggers(first: 1) { nodes { definition } pageInfo { hasNextPage } } }',
    )) as Found;
    expect(page['triggers']).toMatchObject({
      nodes: [{ definition: { triggerId: 'second' } }],
      pageInfo: { hasNextPage: true },
    });
    await admin.query(DELETE, { id });
    expect(await shown(id as string)).toBeNull();
    const audit = (await admin.query('{ auditLog(first: 10) { nodes { action } } }').catch(() => null)) as Found | null;
    if (audit !== null) expect(JSON.stringify(audit)).toContain('trigger-deleted');
  });

  it('name the reason when a definition is refused', async () => {
    const { saveTrigger } = (await admin.query(SAVE, { definition: chatTrigger({ events: ['read'] }) })) as Found;
    expect(saveTrigger).toEqual({
      trigger: null,
      userErrors: [{ code: 'bad_request', field: 'definition', message: 'invalid event type: read' }],
    });
  });

  it('keep the rights of the member who saved them when an admin turns them off and on, and stay hidden from other tenants', async () => {
    const SET = `mutation($id: ID!, $enabled: Boolean!) { setTriggerEnabled(input: { id: $id, enabled: $enabled }) {
      trigger { enabled savedBy savedAt } userErrors { code } } }`;
    const saved = await save(chatTrigger(), graphqlMember(api, people.owner.key));
    const { id, savedBy } = saved;
    const { savedAt: before } = (
      (await admin.query('query($id: ID!) { trigger(id: $id) { savedAt } }', { id })) as Found
    )['trigger'] as Found;
    const set = async (who: GraphqlMember, enabled: boolean) =>
      ((await who.query(SET, { id, enabled })) as Found)['setTriggerEnabled'] as Found;
    const off = await set(admin, false);
    expect(off).toMatchObject({ trigger: { enabled: false, savedBy }, userErrors: [] });
    expect(Date.parse((off['trigger'] as Found)['savedAt'] as string)).toBeGreaterThanOrEqual(
      Date.parse(before as string),
    );
    expect((off['trigger'] as Found)['savedAt']).not.toBe(before);
    expect(await set(admin, true)).toMatchObject({ trigger: { enabled: true, savedBy } });
    const stranger = graphqlMember(api, (await api.people.workspaceOf(`stranger-${newId()}`)).admin.key);
    for (const who of [stranger, graphqlMember(api, people.member.key)])
      expect(await set(who, false)).toMatchObject({ trigger: null, userErrors: [{ code: expect.any(String) }] });
  });

  it('can be read and deleted only by members of their workspace who manage triggers', async () => {
    const { id } = await save(chatTrigger());
    const others = await api.people.workspaceOf(`others-${newId()}`);
    for (const { key } of [people.member, people.viewer, others.owner]) {
      const reply = await ask(api, GET, { key, variables: { id } });
      expect(reply.data?.['trigger'] ?? null).toBeNull();
      const deleted = await ask(api, DELETE, { key, variables: { id } });
      expect(JSON.stringify(deleted)).toMatch(/NOT_FOUND|FORBIDDEN/i);
    }
    expect(await shown(id as string)).not.toBeNull();
  });

  it('can be tested without a start: the test shows which would match and start', async () => {
    await save(chatTrigger({ start: { prompt: "'Answer: ' + content", thread: "'chat-' + event.document.room" } }));
    await save(chatTrigger({ triggerId: 'sends', start: undefined, url: '/webhook/llm', includeBefore: false }));
    await save(chatTrigger({ triggerId: 'fails', condition: 'missing' }));
    const input = { database: 'shop', type: 'CREATE', collection: 'users/7/messages', documentId: 'm1' };
    const document = { role: 'user', content: 'Hello', room: 'a' };
    const { testTrigger } = (await admin.query(TEST, { input: { ...input, document, before: {} } })) as Found;
    expect(testTrigger).toHaveLength(3);
    expect(testTrigger).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          ...{ fires: true, delivery: null },
          input: { prompt: 'Answer: Hello', thread: 'chat-a', attachments: [] },
        }),
        expect.objectContaining({
          fires: true,
          input: null,
          delivery: expect.objectContaining({ docKey: 'users/7/messages/m1', tenant: 'shop', event: 'create' }),
        }),
        expect.objectContaining({ fires: false, problem: expect.stringContaining('Unknown variable: missing') }),
      ]),
    );
    expect(await jobs()).toEqual([]);
  });
});

describe('the endpoint for document changes', () => {
  it('starts one job for each change, however often a client pushes it', async () => {
    const { id } = await save(chatTrigger());
    const first = change();
    const replies = await Promise.all(Array.from({ length: 10 }, () => publish([first, first])));
    expect(replies.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 202));
    const accepted = replies.map(({ body }) => (body as { accepted: number }).accepted);
    expect(accepted.reduce((sum, count) => sum + count, 0)).toBe(1);
    await publish([change({ document: { role: 'assistant', content: 'no' } })]);
    const [run] = await eventually('the job is started', async () => {
      const { runs } = await shown(id as string);
      return (runs as Found[])[0]?.['status'] === 'STARTED' ? (runs as Found[]) : undefined;
    });
    const started = await jobs();
    expect(started.map(({ id: jobId }) => jobId)).toEqual([run?.['jobId']]);
    expect(promptOf(started[0])).toBe('Answer: Hello');
    expect(await shown(id as string)).toMatchObject({ fired: 1, failed: 0, lastError: null });
  });

  it('delivers changes to a URL in the order of their document', async () => {
    await save(
      chatTrigger({ start: undefined, url: receiver.url(), events: ['create', 'update', 'delete'], condition: '' }),
    );
    const documentId = newId();
    const types = ['create', 'update', 'update', 'delete'];
    await publish(
      types.map((type, seq) =>
        change({ type, documentId, seq, lsn: undefined, document: { seq }, before: { seq: seq - 1 } }),
      ),
    );
    const bodies = await eventually('all are delivered', () => {
      const found = receiver.received.map(({ body }) => JSON.parse(String(body)) as Found);
      return found.length === types.length ? found : undefined;
    });
    expect(bodies.map(({ event, seq }) => [event, seq])).toEqual(types.map((type, seq) => [type, seq]));
    expect(bodies[3]).toMatchObject({ payload: { seq: 2 }, before: { seq: 2 }, database: 'shop', tenant: 'shop' });
    expect(bodies[3]).not.toHaveProperty('after');
    expect(bodies[0]).not.toHaveProperty('url');
  });

  it('counts a condition without a value, and shows its reason', async () => {
    const { id } = await save(chatTrigger({ condition: 'missing == 1' }));
    await publish([change()]);
    const found = await eventually('it is counted', async () => {
      const trigger = await shown(id as string);
      return trigger['failed'] === 1 ? trigger : undefined;
    });
    expect(found).toMatchObject({ fired: 0, lastError: expect.stringContaining('Unknown variable: missing') });
  });

  it('accepts changes only from members who manage triggers, for other databases than the workspace, and up to 1,000 entries', async () => {
    const { workspaceId } = people.admin.principal;
    const many = Array.from({ length: 1_001 }, () => change());
    const statuses = await Promise.all([
      publish([change()], people.member),
      publish([change()], people.viewer),
      publish([change()], people.admin, workspaceId),
      publish(many),
      publish([change({ type: 'read' })]),
    ]);
    expect(statuses.map(({ status }) => status)).toEqual([404, 404, 409, 400, 400]);
  });
});

describe('the webhook endpoint of a trigger', () => {
  const secret = `whsec_${randomBytes(32).toString('base64')}`;
  let id: string;

  beforeEach(async () => {
    const set = `mutation($value: String!) { setWorkspaceSecret(input: { name: "HOOK_SECRET", value: $value }) { userErrors { message } } }`;
    await admin.query(set, { value: secret });
    ({ id } = (await save(hookTrigger())) as { id: string });
  });

  const payload = { action: 'opened', title: 'It breaks', number: 7 };
  const seconds = () => Math.floor(Date.now() / 1_000);
  const syntrix = (text: string, { time = seconds(), key = secret } = {}) => ({
    'x-syntrix-signature': `t=${time},v1=${createHmac('sha256', key).update(`${time}.${text}`).digest('hex')}`,
  });
  const standard = (text: string, { time = seconds(), message = 'msg-1' } = {}) => {
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
    const digest = createHmac('sha256', key).update(`${message}.${time}.${text}`).digest('base64');
    return { 'webhook-id': message, 'webhook-timestamp': String(time), 'webhook-signature': `v1,${digest}` };
  };
  const send = async (text: string, headers: Record<string, string>, to = id) => {
    const init = { method: 'POST', body: text, headers: { 'content-type': 'application/json', ...headers } };
    const reply = await fetch(`${api.url}/hooks/${to}`, init);
    return `${reply.status} ${await reply.text()}`;
  };
  const started = (count: number) =>
    eventually(`${count} jobs are started`, async () => {
      const found = await jobs();
      return found.length >= count ? found : undefined;
    });

  it('starts one job for a delivery that arrives 10 times in parallel, and once more later', async () => {
    const text = JSON.stringify(payload);
    const replies = await Promise.all(Array.from({ length: 10 }, () => send(text, standard(text))));
    expect(new Set(replies)).toEqual(new Set(['200 OK']));
    const [job] = await started(1);
    expect(promptOf(job)).toBe('Triage: It breaks');
    expect(await send(text, standard(text, { time: seconds() + 5 }))).toBe('200 OK');
    expect(await send(text, standard(text, { message: 'msg-2' }))).toBe('200 OK');
    await started(2);
    expect(await shown(id)).toMatchObject({ fired: 2 });
  });

  it('returns 401 for a wrong secret, an old or future time, an altered body, no signature or an unknown trigger', async () => {
    const text = JSON.stringify(payload);
    const replies = await Promise.all([
      send(text, syntrix(text, { key: 'another secret' })),
      send(text, syntrix(text, { time: seconds() - 400 })),
      send(text, standard(text, { time: seconds() + 400 })),
      send(text.replace('breaks', 'BREAKS'), syntrix(text)),
      send(text, { ...standard(text), 'webhook-id': 'msg-9' }),
      send(text, {}),
      send(text, syntrix(text), newId()),
      send(text, syntrix(text), 'no-id'),
    ]);
    expect(new Set(replies)).toEqual(new Set(['401 Unauthorized']));
    expect(await jobs()).toEqual([]);
  });

  it('ignores the id of a header that the signature does not cover', async () => {
    const text = JSON.stringify(payload);
    for (const forged of ['a', 'b', 'c']) await send(text, { ...syntrix(text), 'webhook-id': forged });
    await started(1);
    expect(await shown(id)).toMatchObject({ fired: 1 });
  });

  it('starts nothing if the condition is false, and returns an error if the body cannot be stored or is too large', async () => {
    const closed = JSON.stringify({ ...payload, action: 'closed' });
    expect(await send(closed, syntrix(closed))).toBe('200 Ignored');
    for (const bad of ['[1]', '{"a":1e999}']) expect(await send(bad, syntrix(bad))).toBe('400 Invalid payload');
    const large = JSON.stringify({ text: 'x'.repeat(1_048_577) });
    expect(await send(large, syntrix(large))).toBe('413 Payload Too Large');
    expect(await jobs()).toEqual([]);
  });

  it('accepts requests up to the rate of the trigger, and returns 429 beyond it', async () => {
    await save(hookTrigger({ rateLimit: 1 }));
    const texts = [1, 2, 3, 4].map((number) => JSON.stringify({ ...payload, number }));
    const replies = await Promise.all(texts.map((text) => send(text, syntrix(text))));
    expect(replies.filter((reply) => reply.startsWith('200'))).not.toHaveLength(texts.length);
    expect(new Set(replies)).toEqual(new Set(['200 OK', '429 Too Many Requests']));
  });

  it('starts nothing when the member who saved the trigger may not manage triggers any more', async () => {
    const key = await api.people.keyOf(people.admin.principal, ['read', 'write', 'admin']);
    ({ id } = (await save(hookTrigger({ triggerId: 'mine' }), graphqlMember(api, key.key))) as { id: string });
    await api.auth.apiKeys.revoke(people.admin.principal, key.keyId);
    const text = JSON.stringify(payload);
    expect(await send(text, syntrix(text))).toBe('200 OK');
    const trigger = await eventually('the run has failed', async () => {
      const found = await shown(id);
      return found['failed'] === 1 ? found : undefined;
    });
    expect(trigger).toMatchObject({ runs: [{ status: 'FAILED', error: { code: 'right_lost' } }] });
    expect(await jobs()).toEqual([]);
  });

  it('compares the time of the signature with the clock of the server', async () => {
    const hooks = api.api.app.get(Hooks);
    const clock = new ManualClock(1_614_265_330_000);
    const [before, body] = [hooks.clock, Buffer.from(JSON.stringify(payload))];
    hooks.clock = clock;
    const headers = syntrix(body.toString(), { time: 1_614_265_330 });
    expect(await hooks.receive(id, { headers, body })).toEqual({ outcome: 'ok' });
    clock.advance(301_000);
    const reason = 'the time of the signature is 301 s before the clock of the server';
    expect(await hooks.receive(id, { headers, body })).toEqual({ outcome: 'unauthorized', reason });
    hooks.clock = before;
  });
});
