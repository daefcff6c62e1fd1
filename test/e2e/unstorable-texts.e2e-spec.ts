import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { newId } from '#platform';

import { startTestApi, type TestApi } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { ask } from '../harness/graphql.js';
import { graphqlMember } from '../harness/graphql-member.js';

let database: TestDatabase;
let api: TestApi;
let key: string;
let jobId: string;

beforeAll(async () => {
  database = await createTestDatabase();
  api = await startTestApi(database, { takesJobs: false });
  key = (await api.people.workspaceOf('unstorable')).owner.key;
  const started = await graphqlMember(api, key).start({ message: 'Hello' });
  jobId = started.jobId ?? '';
});

afterAll(async () => {
  await api.close();
  await database.close();
});

// NUL is what no text of Postgres holds, half a pair what its JSON does not.
describe.each(['a\0b', 'a\ud800b'])('text that Postgres cannot store: %j', (text) => {
  it.each<[string, object]>([
    ['mutation($i: ClaimClientToolInput!) { claimClientTool(input: $i) { userErrors { code } } }', { deviceId: 'd' }],
    ['mutation($i: ValidateClientToolInput!) { validateClientTool(input: $i) { userErrors { code } } }', {}],
    ['mutation($i: SubmitClientToolResultInput!) { submitClientToolResult(input: $i) { userErrors { code } } }', {}],
  ])('matches no call: %s', async (query, more) => {
    const i = { jobId, callId: text, ...more, ...('deviceId' in more ? {} : { claimToken: newId() }) };
    const input = query.includes('submit') ? { ...i, result: 'so' } : i;
    expect((await ask(api, query, { key, variables: { i: input } })).errors).toEqual([]);
  });

  it.each(['tool', 'approver'])('matches no call by its %s', async (field) => {
    const filter = { [field]: text };
    const list = 'query($filter: ToolCallFilterInput) { toolCalls(filter: $filter) { nodes { id } } }';
    const stats = 'query($filter: ToolCallFilterInput) { toolCallStats(filter: $filter) { __typename } }';
    for (const query of [list, stats])
      expect((await ask(api, query, { key, variables: { filter } })).errors).toEqual([]);
  });

  it.each(['code', 'phase', 'text'])('matches no failure by its %s', async (field) => {
    const variables = { filter: { error: { [field]: text } } };
    const query = 'query($filter: ToolCallFilterInput) { toolCalls(filter: $filter) { nodes { id } } }';
    expect((await ask(api, query, { key, variables })).errors).toEqual([]);
  });

  it('matches no request and no request id', async () => {
    const variables = { filter: { tool: { eq: text } } };
    const query = 'query($filter: InterruptFilterInput) { interrupts(filter: $filter) { nodes { id } } }';
    expect((await ask(api, query, { key, variables })).errors).toEqual([]);
    const body = { requestId: text, jobId, action: 'approve' };
    expect((await api.call('POST', '/api/workflows/hitl', { key, body })).status).toBe(404);
  });
});
