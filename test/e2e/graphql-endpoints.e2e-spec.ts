import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { GraphQLSchemaHost } from '@nestjs/graphql';
import { type GraphQLSchema, isObjectType } from 'graphql';

import type { Role } from '#auth';
import { insertInterrupt } from '#jobs';
import { newId } from '#platform';
import { toNodeId } from '#platform/api';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { ask, type GraphqlReply, RawSocket } from '../harness/graphql.js';
import { operationsOf, type WalkedOperation } from '../harness/graphql-operations.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';

/** What is refused for its number, and when no more, depends on the minute. */
const unlimited = { STARTS_PER_MINUTE: '100000', WORKFLOW_STARTS_PER_MINUTE: '100000' };

let database: TestDatabase;
let model: ScriptedModel;
let api: TestApi;
let schema: GraphQLSchema;
let ours: Record<Role, TestMember>;
let theirs: Record<Role, TestMember>;
/** Ids of rows of `ours`. */
let canaries: readonly string[];

beforeAll(async () => {
  database = await createTestDatabase();
  model = await ScriptedModel.start();
  const env = { MODEL_BASE_URL: model.url, STREAMS_PER_PRINCIPAL: '500', SOCKETS_PER_USER: '500', ...unlimited };
  api = await startTestApi(database, { env });
  schema = api.api.app.get(GraphQLSchemaHost, { strict: false }).schema;
  ours = await api.people.workspaceOf('ours');
  theirs = await api.people.workspaceOf('theirs');
  canaries = await plant();
});

afterAll(async () => {
  await api.close();
  await model.close();
  await database.close();
});

/** One row of each kind, each with the word CANARY in it. */
async function plant(): Promise<readonly string[]> {
  const { key } = ours.owner;
  model.enqueue(
    toolCallReply([{ id: 'call_canary', name: 'calculate', arguments: '{"expression":"6*7"}' }], { text: 'CANARY' }),
    textReply(['CANARY']),
  );
  const { data } = await ask(api, START, {
    key,
    variables: {
      input: { message: 'CANARY', tools: ['calculate'], threadId: 'canary-thread', clientMessageId: 'canary-message' },
    },
  });
  const { jobId } = data?.['startChat'] as { jobId: string };
  type Planted = { finishedAt: string | null; threadId: string; messageId: string; toolCalls: { id: string }[] };
  const job = await eventually('the planted job has ended', async () => {
    const reply = await ask(api, JOB, { key, variables: { id: jobId } });
    const found = reply.data?.['job'] as Planted;
    return found.finishedAt === null ? undefined : found;
  });
  const made = await ask(
    api,
    `mutation { createApiKey(input: { name: "CANARY", scopes: [READ] }) { apiKey { id } }
      createModelProvider(input: { name: "CANARY", baseUrl: "https://models.example.org/v1", defaultModel: "CANARY" }) { modelProvider { id } userErrors { code message } } }`,
    { key },
  );
  const rows = made.data as unknown as {
    createApiKey: { apiKey: { id: string } };
    createModelProvider: { modelProvider: { id: string } };
  };
  const offer = { email: 'canary@example.org', role: 'owner' } as const;
  const invitation = await api.auth.invitations.invite(ours.owner.person, offer);
  const callId = job.toolCalls[0]?.id ?? '';
  const { threadId, messageId } = job;
  const interruptId = newId();
  const { workspaceId } = ours.owner.principal;
  const request = { mode: 'approval', prompt: 'CANARY' };
  await database.prisma.withWorkspace({ workspaceId }, (tx) =>
    insertInterrupt(
      tx,
      { workspaceId, jobId },
      { id: interruptId, kind: 'human_input', title: 'CANARY', request, threadId, toolCallId: callId },
    ),
  );
  return [
    ...[
      jobId,
      threadId,
      messageId,
      callId,
      interruptId,
      'canary-thread',
      rows.createApiKey.apiKey.id,
      rows.createModelProvider.modelProvider.id,
    ],
    ...[ours.member.principal.userId, ours.owner.principal.workspaceId, invitation.id],
    ...[
      toNodeId('Job', jobId),
      toNodeId('Thread', threadId),
      toNodeId('Message', messageId),
      toNodeId('ToolCall', callId),
      toNodeId('Interrupt', interruptId),
    ],
  ];
}

const START = 'mutation($input: StartChatInput!) { startChat(input: $input) { jobId userErrors { code } } }';
const JOB = 'query($id: ID!) { job(id: $id) { finishedAt threadId messageId toolCalls { id } } }';

/** Without what differs from one moment to the next. */
function shapeOf({ status, data, errors }: GraphqlReply): unknown {
  const shown = errors.map(({ message, path, extensions }) => {
    const { retryAfterSeconds } = extensions;
    const comparable = { ...extensions, requestId: '', retryAfterSeconds: retryAfterSeconds === undefined ? '' : 'N' };
    return { message: message.replace(`${String(retryAfterSeconds)}s`, 'N s'), path, ...comparable };
  });
  return { status, data, errors: shown };
}

/** What a subscription answers first, over a socket of its own. */
async function firstAnswer(operation: WalkedOperation, key: string): Promise<unknown> {
  const socket = await RawSocket.enter(api, key);
  socket.send({ id: '1', type: 'subscribe', payload: { query: operation.document, variables: operation.variables } });
  const answer = await socket.until(({ id }) => id === '1');
  socket.close();
  return JSON.parse(JSON.stringify(answer).replaceAll(/"requestId":"[^"]*"/g, '"requestId":""'));
}

/** Some at once: the operations are many, and each waits for the server. */
async function eachOf<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  const left = [...items];
  const runNext = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await run(item);
  };
  await Promise.all(Array.from({ length: 6 }, runNext));
}

/** The operations of a kind, once for each id where they take one. */
function walked(kind: WalkedOperation['kind']): WalkedOperation[] {
  return canaries.flatMap((canary, i) =>
    operationsOf(schema, canary).filter((operation) => operation.kind === kind && (operation.takesId || i === 0)),
  );
}

/** Each operation that takes an id responds to the ids of `ours` as to one that does not exist. */
async function expectUnknown(key: string, isChosen: (name: string) => boolean): Promise<void> {
  const answerOf = async (operation: WalkedOperation) => {
    const { kind, document, variables } = operation;
    return kind === 'subscription'
      ? firstAnswer(operation, key)
      : shapeOf(await ask(api, document, { key, variables }));
  };
  const chosen = (id: string) => operationsOf(schema, id).filter(({ name, takesId }) => takesId && isChosen(name));
  const unknown = new Map<string, unknown>();
  await eachOf(chosen(newId()), async (operation) => void unknown.set(operation.name, await answerOf(operation)));
  await eachOf(canaries.flatMap(chosen), async (probe) => {
    expect([probe.name, await answerOf(probe)]).toEqual([probe.name, unknown.get(probe.name)]);
  });
}

it('the cost of every GraphQL field depends on page sizes and numbers of ids only', () => {
  const read = new Set<string>();
  const args = new Proxy<Record<string, unknown>>({}, { get: (_, name) => void read.add(String(name)) });
  const fields = Object.values(schema.getTypeMap()).flatMap((type) =>
    isObjectType(type) ? Object.values(type.getFields()) : [],
  );
  for (const { extensions } of fields) {
    const { complexity } = extensions;
    if (typeof complexity === 'function') (complexity as (options: object) => number)({ args, childComplexity: 1 });
  }
  expect([...read].toSorted()).toEqual(['first', 'ids', 'last']);
});

describe('every GraphQL operation', () => {
  it('returns 401 without a valid credential and does nothing', async () => {
    const revoked = await api.people.keyOf(ours.owner.principal, ['read', 'write', 'admin']);
    await api.auth.apiKeys.revoke(ours.owner.principal, revoked.keyId);
    const expired = await api.people.tokenOf('ours-owner', -60);
    const wrong = `${ours.owner.key.slice(0, -3)}xyz`;
    for (const { kind, name, document, variables } of operationsOf(schema, newId())) {
      if (kind === 'subscription') continue;
      for (const key of [undefined, 'nonsense', wrong, revoked.key, expired]) {
        const { status, data, errors } = await ask(api, document, { key, variables });
        // Many attempts with one prefix are slowed down and rejected as well.
        const code = status === 429 ? 'RATE_LIMITED' : 'UNAUTHENTICATED';
        expect([name, data, errors[0]?.extensions['code']]).toEqual([name, undefined, code]);
        expect([401, 429]).toContain(status);
      }
    }
    for (const key of ['', 'nonsense', wrong, revoked.key, expired]) {
      const socket = await RawSocket.open(api);
      socket.send({ type: 'connection_init', payload: key === '' ? {} : { apiKey: key } });
      expect([4401, 4429]).toContain((await socket.closed).code);
    }
  });

  it('treats ids of another tenant as unknown ids', async () => {
    // A thread of this name is begun: thread ids of clients are names within their own workspace. An inbox with
    // nothing to show is silent, so no response can be awaited; its own spec tests other tenants.
    await expectUnknown(theirs.owner.key, (name) => !['startChat', 'interruptActivity'].includes(name));
  });

  it('returns the same errors for ids of another tenant as for unknown ids, also for a user token', async () => {
    const ofPeople = ['addMember', 'changeMemberRole', 'removeMember', 'leaveWorkspace', 'revokeApiKey'];
    const names = [...ofPeople, 'revokeInvitation', 'acceptInvitation', 'declineInvitation', 'receivedInvitations'];
    await expectUnknown(await api.people.tokenOf('theirs-owner'), (name) => names.includes(name));
  });

  it('shows nothing of another tenant', async () => {
    await eachOf(walked('query'), async ({ document, variables, name }) => {
      for (const { key } of Object.values(theirs)) {
        const { data } = await ask(api, document, { key, variables });
        const text = JSON.stringify(data);
        for (const secret of ['CANARY', ...canaries]) expect([name, text.includes(secret)]).toEqual([name, false]);
      }
    });
  });

  it('shows the rows to their owners', async () => {
    const texts: string[] = [];
    await eachOf(walked('query'), async ({ document, variables }) => {
      texts.push(JSON.stringify((await ask(api, document, { key: ours.owner.key, variables })).data));
    });
    for (const canary of canaries.filter((id) => id !== ours.owner.principal.workspaceId)) {
      expect([canary, texts.some((text) => text.includes(canary))]).toEqual([canary, true]);
    }
  });

  it('changes nothing for a viewer', async () => {
    // Every user may make a workspace and leave one.
    const mutations = walked('mutation').filter(({ name }) => !['createWorkspace', 'leaveWorkspace'].includes(name));
    await eachOf(mutations, async ({ name, document, variables }) => {
      const { data, errors } = await ask(api, document, { key: ours.viewer.key, variables });
      const refused =
        errors[0]?.extensions['code'] ?? (data?.[name] as { userErrors: { code: string }[] }).userErrors[0]?.code;
      expect([name, refused]).toEqual([name, expect.stringMatching(/^(?:FORBIDDEN|not_found|bad_request)$/)]);
    });
    const { data } = await ask(api, '{ jobs { totalCount } threads { totalCount } }', { key: ours.owner.key });
    expect(data).toEqual({ jobs: { totalCount: 1 }, threads: { totalCount: 1 } });
  });

  it('rejects input fields that the schema does not have', async () => {
    for (const { kind, document, variables } of operationsOf(schema, newId())) {
      if (kind !== 'mutation') continue;
      for (const extra of ['workspaceId', 'status', 'createdBy', '__proto__x']) {
        // The workspace to leave is named.
        if (Object.hasOwn(variables['input'] as object, extra)) continue;
        const input = { ...(variables['input'] as object), [extra]: 'x' };
        const { data, errors } = await ask(api, document, { key: ours.owner.key, variables: { input } });
        expect([data, errors[0]?.extensions['code']]).toEqual([undefined, 'BAD_USER_INPUT']);
      }
    }
  });

  it('treats a workspace without membership as an unknown one', async () => {
    const token = await api.people.tokenOf('theirs-owner');
    const inside = (workspaceId: string) =>
      ask(api, '{ workspace { id } }', { key: token, headers: { 'x-workspace-id': workspaceId } });
    const theirWorkspace = await inside(theirs.owner.principal.workspaceId);
    expect(theirWorkspace.data).toEqual({ workspace: { id: theirs.owner.principal.workspaceId } });
    expect(shapeOf(await inside(ours.owner.principal.workspaceId))).toEqual(shapeOf(await inside(newId())));
  });
});
