import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { ask, RawSocket } from '../harness/graphql.js';
import { type GraphqlMember, graphqlMember } from '../harness/graphql-member.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { createGate, deltaChunk, doneLine, finishChunk, textChunk } from '../harness/scripted-reply.js';

describe('workspaces over GraphQL', () => {
  let database: TestDatabase;
  let api: TestApi;
  let owner: TestMember;
  let user: GraphqlMember;
  let person: GraphqlMember;

  beforeAll(async () => {
    database = await createTestDatabase();
    api = await startTestApi(database, { takesJobs: false });
    const people = await api.people.workspaceOf('run');
    owner = people.owner;
    user = graphqlMember(api, people.owner.key);
    person = graphqlMember(api, await api.people.tokenOf('run-owner'));
  });

  afterAll(async () => {
    await api.close();
    await database.close();
  });

  it('support member, key and settings mutations', async () => {
    const { updateWorkspace } = await user.query(
      'mutation { updateWorkspace(input: { name: "New name", whenBusy: ENQUEUE }) { workspace { name whenBusy } userErrors { code } } }',
    );
    expect(updateWorkspace).toEqual({ workspace: { name: 'New name', whenBusy: 'ENQUEUE' }, userErrors: [] });
    const { userId } = await api.people.join(owner.person, 'new', 'viewer');
    const { changeMemberRole } = await person.query(
      'mutation($id: ID!) { changeMemberRole(input: { userId: $id, role: ADMIN }) { member { role } } }',
      { id: userId },
    );
    expect(changeMemberRole).toEqual({ member: { role: 'ADMIN' } });
    const { workspace } = await user.query(
      '{ workspace { members(first: 100) { nodes { userId role } pageInfo { hasNextPage } } modelProviders { name } apiKeys { nodes { name } } } }',
    );
    expect(JSON.stringify(workspace)).toContain(userId);
    const last = await person.query(
      'mutation($id: ID!) { removeMember(input: { userId: $id }) { member { userId } userErrors { code } } }',
      { id: owner.principal.userId },
    );
    expect(last['removeMember']).toEqual({ member: null, userErrors: [{ code: 'last_owner' }] });
    await person.query('mutation($id: ID!) { removeMember(input: { userId: $id }) { member { userId } } }', {
      id: userId,
    });
  });

  it('gain a member when an invitation is accepted', async () => {
    const { addMember } = await user.query(
      `mutation { addMember(input: { email: "Guest@Example.org", role: VIEWER }) {
        invitation { id email role createdAt expiresAt } userErrors { code } } }`,
    );
    const { invitation } = addMember as { invitation: { id: string; createdAt: string; expiresAt: string } };
    expect(invitation).toMatchObject({ email: 'guest@example.org', role: 'VIEWER' });
    expect(Date.parse(invitation.expiresAt) - Date.parse(invitation.createdAt)).toBeGreaterThan(13 * 86_400_000);
    const { workspace } = await user.query('{ workspace { invitations { nodes { id email role } } } }');
    expect(workspace).toEqual({
      invitations: { nodes: [{ id: invitation.id, email: 'guest@example.org', role: 'VIEWER' }] },
    });
    const guest = graphqlMember(api, await api.people.tokenOf('guest'));
    const { receivedInvitations } = await guest.query(
      '{ receivedInvitations { nodes { id workspaceName role invitedBy } } }',
    );
    expect(receivedInvitations).toEqual({
      nodes: [{ id: invitation.id, workspaceName: 'New name', role: 'VIEWER', invitedBy: 'run-owner@example.org' }],
    });
    const { acceptInvitation } = await guest.query(
      'mutation($id: ID!) { acceptInvitation(input: { id: $id }) { workspaceId member { email role } userErrors { code } } }',
      { id: invitation.id },
    );
    const { workspaceId } = owner.principal;
    expect(acceptInvitation).toEqual({
      workspaceId,
      member: { email: 'guest@example.org', role: 'VIEWER' },
      userErrors: [],
    });
    const { me } = await guest.query('{ me { role workspaceId } }');
    expect(me).toEqual({ role: 'VIEWER', workspaceId });
    const left = await guest.query(
      'mutation($id: ID!) { leaveWorkspace(input: { workspaceId: $id }) { member { role } userErrors { code } } }',
      { id: workspaceId },
    );
    expect(left['leaveWorkspace']).toEqual({ member: { role: 'VIEWER' }, userErrors: [] });
    const alone = await person.query(
      'mutation($id: ID!) { leaveWorkspace(input: { workspaceId: $id }) { userErrors { code message } } }',
      { id: workspaceId },
    );
    expect(alone['leaveWorkspace']).toEqual({
      userErrors: [
        {
          code: 'last_owner',
          message: 'This is the only owner of the workspace. Make another member owner first.',
        },
      ],
    });
  });

  it('reject role changes by an API key', async () => {
    const { key } = owner;
    const codeOf = async (text: string, id: string) => {
      const { data, errors } = await ask(api, text, { key, variables: { id } });
      return [data, errors.map(({ extensions }) => extensions['code'])];
    };
    const { userId } = await api.people.join(owner.person, 'colleague', 'admin');
    const forbidden = [null, ['FORBIDDEN']];
    for (const text of [
      'mutation($id: ID!) { changeMemberRole(input: { userId: $id, role: VIEWER }) { userErrors { code } } }',
      'mutation($id: ID!) { removeMember(input: { userId: $id }) { userErrors { code } } }',
    ])
      expect(await codeOf(text, userId)).toEqual(forbidden);
    for (const role of ['ADMIN', 'OWNER'])
      expect(
        await codeOf(
          `mutation { addMember(input: { email: "x@example.org", role: ${role} }) { userErrors { code } } }`,
          '',
        ),
      ).toEqual(forbidden);
  });

  it('return a first key when created with an API key', async () => {
    const { createWorkspace } = await user.query(
      'mutation { createWorkspace(input: { name: "By key" }) { workspace { id } apiKey { scopes } secret userErrors { code } } }',
    );
    const made = createWorkspace as { workspace: { id: string }; apiKey: { scopes: string[] }; secret: string };
    expect(made.apiKey.scopes).toEqual(['READ', 'WRITE', 'ADMIN', 'APPROVE']);
    const { me } = await graphqlMember(api, made.secret).query('{ me { workspaceId role } }');
    expect(me).toEqual({ workspaceId: made.workspace.id, role: 'OWNER' });
  });

  it('show the secret of a key once and revoke the key', async () => {
    const { createApiKey } = await user.query(
      'mutation { createApiKey(input: { name: "k", scopes: [READ], expiresAt: "2100-01-01T00:00:00Z" }) { secret apiKey { id prefix expiresAt } } }',
    );
    const made = createApiKey as { secret: string; apiKey: { id: string; expiresAt: string } };
    expect(made.apiKey.expiresAt).toBe('2100-01-01T00:00:00.000Z');
    const { me } = await graphqlMember(api, made.secret).query(
      '{ me { id role scopes workspaceId user { email } memberships { role } } }',
    );
    expect(me).toMatchObject({ id: `key:${made.apiKey.id}`, role: 'OWNER', scopes: ['READ'] });
    await user.query('mutation($id: ID!) { revokeApiKey(input: { id: $id }) { apiKey { revokedAt } } }', {
      id: made.apiKey.id,
    });
    expect((await ask(api, '{ me { id } }', { key: made.secret })).status).toBe(401);
  });

  it('configure providers and never show their keys', async () => {
    const input = {
      name: 'p',
      baseUrl: 'https://models.example.org/v1',
      defaultModel: 'm',
      apiKey: 'sk-provider-secret-1234',
    };
    const made = await user.query(
      'mutation($input: CreateModelProviderInput!) { createModelProvider(input: $input) { modelProvider { id keyHint isDefault } userErrors { code } } }',
      { input },
    );
    const { modelProvider } = made['createModelProvider'] as { modelProvider: { id: string } };
    expect(made).toMatchObject({
      createModelProvider: { modelProvider: { keyHint: '1234', isDefault: true }, userErrors: [] },
    });
    const { updateModelProvider } = await user.query(
      'mutation($id: ID!) { updateModelProvider(input: { id: $id, name: "q", apiKey: null }) { modelProvider { name keyHint } } }',
      { id: modelProvider.id },
    );
    expect(updateModelProvider).toEqual({ modelProvider: { name: 'q', keyHint: null } });
    for (const mutation of ['setDefaultModelProvider', 'deleteModelProvider']) {
      const done = await user.query(
        `mutation($id: ID!) { ${mutation}(input: { id: $id }) { modelProvider { id } userErrors { code } } }`,
        { id: modelProvider.id },
      );
      expect(done[mutation]).toEqual({ modelProvider: { id: modelProvider.id }, userErrors: [] });
    }
  });

  it('can be created by a user without a membership', async () => {
    const key = await api.people.tokenOf('newcomer');
    expect((await ask(api, '{ jobs { totalCount } }', { key })).errors[0]?.extensions['code']).toBe('NOT_FOUND');
    const { me } = await graphqlMember(api, key).query('{ me { workspaceId role memberships { role } } }');
    expect(me).toEqual({ workspaceId: null, role: null, memberships: [] });
    const { createWorkspace } = await graphqlMember(api, key).query(
      'mutation { createWorkspace(input: { name: "Mine" }) { workspace { id name } } }',
    );
    expect(createWorkspace).toMatchObject({ workspace: { name: 'Mine' } });
    await eventually('the membership is known', async () => {
      const { data } = await ask(api, '{ me { role } }', { key });
      return (data?.['me'] as { role: string | null }).role === 'OWNER' ? true : undefined;
    });
  });
});

describe('GraphQL over WebSocket after a loss of access:', () => {
  let database: TestDatabase;
  let model: ScriptedModel;
  let api: TestApi;
  let owner: TestMember;

  beforeAll(async () => {
    database = await createTestDatabase();
    model = await ScriptedModel.start();
    api = await startTestApi(database, { env: { MODEL_BASE_URL: model.url } });
    owner = (await api.people.workspaceOf('access')).owner;
  });

  afterAll(async () => {
    await api.close();
    await model.close();
    await database.close();
  });

  /** A running job that streams `before`, waits for the gate, streams `SECRET` and ends. */
  async function startGatedJob() {
    const gate = createGate();
    model.enqueue({
      body: [
        deltaChunk({ role: 'assistant', content: '' }),
        textChunk('before'),
        gate,
        textChunk('SECRET'),
        finishChunk('stop'),
        doneLine,
      ],
    });
    const { data } = await ask(api, 'mutation { startChat(input: { message: "Hi" }) { jobId } }', { key: owner.key });
    const { jobId } = data?.['startChat'] as { jobId: string };
    await eventually('text is stored', async () => {
      const reply = await ask(api, 'query($id: ID!) { job(id: $id) { content } }', {
        key: owner.key,
        variables: { id: jobId },
      });
      return JSON.stringify(reply.data).includes('before') ? true : undefined;
    });
    return { jobId, gate };
  }

  async function watch(jobId: string, key: string): Promise<RawSocket> {
    const socket = await RawSocket.enter(api, key);
    const query =
      'subscription($jobId: ID!) { jobEvents(jobId: $jobId) { __typename ... on TextDeltaEvent { text } } }';
    socket.send({ id: '1', type: 'subscribe', payload: { query, variables: { jobId } } });
    await socket.until(({ type }) => type === 'next');
    return socket;
  }

  const sees = (socket: RawSocket) => JSON.stringify(socket.messages);

  it('subscriptions end when the key is revoked, before any further event', async () => {
    const { jobId, gate } = await startGatedJob();
    const viewer = await api.people.keyOf(owner.principal, ['read']);
    const [lost, stays] = [await watch(jobId, viewer.key), await watch(jobId, owner.key)];
    await api.auth.apiKeys.revoke(owner.principal, viewer.keyId);
    expect(await lost.closed).toEqual({ code: 4403, reason: 'Forbidden' });
    gate.open();
    await stays.until(({ type }) => type === 'complete');
    expect([sees(lost).includes('SECRET'), sees(stays).includes('SECRET')]).toEqual([false, true]);
    stays.close();
  });

  it('subscriptions end when the user leaves the workspace, and continue when the role changes', async () => {
    const { jobId, gate } = await startGatedJob();
    const joined = await api.people.join(owner.person, 'passing', 'member');
    const socket = await watch(jobId, await api.people.tokenOf('passing'));
    await api.auth.members.changeRole(owner.person, { userId: joined.userId, role: 'viewer' });
    socket.send({ id: '2', type: 'subscribe', payload: { query: '{ me { role } }' } });
    expect(await socket.until(({ id }) => id === '2')).toMatchObject({ payload: { data: { me: { role: 'VIEWER' } } } });
    await api.auth.members.remove(owner.person, joined.userId);
    expect(await socket.closed).toMatchObject({ code: 4403 });
    gate.open();
    expect(sees(socket)).not.toContain('SECRET');
  });

  it('subscriptions end when the token expires', async () => {
    const { jobId, gate } = await startGatedJob();
    // One that ends before its owner watches is followed by one that lasts longer.
    const watchFor = async (life: number): Promise<RawSocket> =>
      watch(jobId, await api.people.tokenOf('access-owner', life)).catch(() => watchFor(2 * life));
    const socket = await watchFor(3);
    expect(await socket.closed).toEqual({ code: 4401, reason: 'Token expired' });
    gate.open();
    expect(sees(socket)).not.toContain('SECRET');
  });

  it('an open socket rejects operations after its key was revoked', async () => {
    const passing = await api.people.keyOf(owner.principal, ['read']);
    const socket = await RawSocket.enter(api, passing.key);
    await api.auth.apiKeys.revoke(owner.principal, passing.keyId);
    socket.send({ id: '1', type: 'subscribe', payload: { query: '{ tools { name } }' } });
    expect(await socket.closed).toMatchObject({ code: 4403 });
    expect(sees(socket)).not.toContain('calculate');
  });

  it('an idle socket closes when its key is revoked', async () => {
    const passing = await api.people.keyOf(owner.principal, ['read']);
    const idle = await RawSocket.enter(api, passing.key);
    await api.auth.apiKeys.revoke(owner.principal, passing.keyId);
    expect(await idle.closed).toEqual({ code: 4403, reason: 'Forbidden' });
  });

  it('a socket closes when its key is revoked, even if the client named another workspace', async () => {
    const passing = await api.people.keyOf(owner.principal, ['read']);
    const foreign = (await api.people.workspaceOf('foreign')).owner.principal.workspaceId;
    const enter = async () => {
      const socket = await RawSocket.enter(api, passing.key, { workspaceId: foreign });
      socket.send({ id: '1', type: 'subscribe', payload: { query: '{ me { role } tools { name } }' } });
      expect(JSON.stringify(await socket.until(({ id }) => id === '1'))).not.toContain('calculate');
      return socket;
    };
    const socket = await enter();
    await api.auth.apiKeys.revoke(owner.principal, passing.keyId);
    expect(await socket.closed).toEqual({ code: 4403, reason: 'Forbidden' });
  });

  it('a socket closes when the user leaves the workspace, even if the client named another workspace', async () => {
    const joined = await api.people.join(owner.person, 'leaving', 'member');
    const foreign = (await api.people.workspaceOf('elsewhere')).owner.principal.workspaceId;
    const [named, absent] = [foreign, '0198c0de-0000-7000-8000-000000000000'];
    const token = await api.people.tokenOf('leaving');
    const sockets = await Promise.all(
      [named, absent].map((workspaceId) => RawSocket.enter(api, token, { workspaceId })),
    );
    await api.auth.members.remove(owner.person, joined.userId);
    for (const socket of sockets) expect(await socket.closed).toEqual({ code: 4403, reason: 'Forbidden' });
  });

  it('an idle socket closes when its token expires', async () => {
    const socket = await RawSocket.enter(api, await api.people.tokenOf('access-owner', 5));
    expect(await socket.closed).toEqual({ code: 4401, reason: 'Token expired' });
  });

  it('a socket closes with 1001 when the server stops', async () => {
    const other = await startTestApi(database, { takesJobs: false });
    const socket = await RawSocket.enter(other, owner.key);
    await other.close();
    expect(await socket.closed).toMatchObject({ code: 1001 });
  });
});
