import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';

import { startTestApi, type TestApi } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { ask } from '../harness/graphql.js';
import { graphqlMember } from '../harness/graphql-member.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';

let database: TestDatabase;
let model: ScriptedModel;
let api: TestApi;
let key: string;
let newest: string;
let results: string;
let messages: string;
const texts = '{ jobs(first: 10) { nodes { content rounds { text } } } }';

beforeAll(async () => {
  database = await createTestDatabase();
  model = await ScriptedModel.start();
  api = await startTestApi(database, { env: { MODEL_BASE_URL: model.url } });
  key = (await api.people.workspaceOf('sizes')).owner.key;
  const user = graphqlMember(api, key);
  const started = async () => {
    model.enqueue(
      toolCallReply([{ id: 'c', name: 'calculate', arguments: '{"expression":"6*7"}' }]),
      textReply(['so']),
    );
    return user.run({ message: 'What is 6*7?', tools: ['calculate'] });
  };
  await started();
  const { jobId, threadId } = await started();
  newest = jobId ?? '';
  results = `{ job(id: "${jobId}") { toolCalls { result } } }`;
  messages = `{ messages(threadId: "${threadId ?? ''}", first: 10) { nodes { role } } }`;
});

afterAll(async () => {
  await api.close();
  await model.close();
  await database.close();
});

/** Large texts of a model, a tool and a person: together more than one response may hold. */
async function grow(...statements: readonly string[]): Promise<void> {
  const owner = new pg.Client({ connectionString: database.urls.owner });
  await owner.connect();
  for (const sql of statements) await owner.query(sql);
  await owner.end();
}

const reasonsOf = async (query: string) =>
  (await ask(api, query, { key })).errors.map(({ extensions }) => extensions['reason']);

describe('GraphQL responses of many MiB', () => {
  it('reject a selection that is too large without reading its texts', async () => {
    for (const query of [texts, results, messages]) expect(await reasonsOf(query)).toEqual([]);

    await grow(
      `UPDATE round SET text = repeat('x', CASE job_id WHEN '${newest}' THEN 8000000 ELSE 60000000 END) WHERE number = 2`,
      "UPDATE tool_call SET result = repeat('x', 70000000)",
      "UPDATE message SET content = to_json(repeat('x', 70000000)) WHERE role = 'user'",
    );
    for (const query of [texts, results, messages]) expect(await reasonsOf(query)).toContain('too_large');
    expect(await reasonsOf('{ jobs(first: 10) { nodes { id status } } }')).toEqual([]);
    expect(await reasonsOf('{ jobs(first: 1) { nodes { content } } }')).toEqual([]);
  });
});
