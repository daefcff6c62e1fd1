import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { ask } from '../harness/graphql.js';
import { type GraphqlMember, graphqlMember } from '../harness/graphql-member.js';

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

describe('workspaces over GraphQL', () => {
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

  it('add a member when they accept an invitation', async () => {
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

  it('allow a user without membership to create one', async () => {
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
