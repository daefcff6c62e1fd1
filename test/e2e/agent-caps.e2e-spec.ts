import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { newId } from '#platform';

import { startTestApi, type TestApi } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { createGate, type Gate, textChunk, textReply, toolCallReply } from '../harness/scripted-reply.js';

describe('maxRunningJobs of an agent', () => {
  let database: TestDatabase;
  let model: ScriptedModel;
  let test: TestApi;

  beforeAll(async () => {
    [database, model] = [await createTestDatabase(), await ScriptedModel.start()];
    test = await startTestApi(database, { takesJobs: true, env: { MODEL_BASE_URL: model.url } });
  });
  afterAll(async () => {
    await test.close();
    await model.close();
    await database.close();
  });

  const createAgent = `mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } userErrors { message } } }`;
  const gated = (gate: Gate) => ({ body: [textChunk('Do'), gate, ...textReply(['ne.']).body] });
  const openWithAgents = async () => {
    const { owner } = await test.people.workspaceOf(`w-${newId()}`);
    for (const input of [
      { name: 'Clerk', maxRunningJobs: 2, description: 'Files things.' },
      { name: 'Cook', description: 'Cooks.' },
    ])
      await test.call('POST', '/graphql', { key: owner.key, body: { query: createAgent, variables: { input } } });
    const start = async (agent: string) => {
      const messages = [{ role: 'user', content: 'hi' }];
      const body = { _threadId: newId(), _messageId: newId(), messages, agent };
      return test.call('POST', '/api/jobs', { key: owner.key, body });
    };
    const jobs = (agent: string) =>
      database.postgres.withWorkspaceSql(owner.principal.workspaceId, async (client) => {
        const sql = `SELECT j.status, count(*)::int AS jobs FROM job j JOIN agent a ON a.workspace_id = j.workspace_id AND a.id = j.agent_id
          WHERE a.slug = $1 GROUP BY 1`;
        const { rows } = await client.query<{ status: string; jobs: number }>(sql, [agent]);
        return Object.fromEntries(rows.map(({ status, jobs: count }) => [status, count]));
      });
    const eventsOf = (type: string) =>
      database.postgres.withWorkspaceSql(owner.principal.workspaceId, async (client) => {
        const { rows } = await client.query<{ body: object }>('SELECT body FROM job_event WHERE type = $1', [type]);
        return rows.map(({ body }) => body);
      });
    return { owner, start, jobs, eventsOf };
  };

  it('queues the rest of 8 parallel starts, and delays no job of another agent', async () => {
    const { start, jobs } = await openWithAgents();
    const gate = createGate();
    model.enqueue(...Array.from({ length: 8 }, () => gated(gate)), textReply(['Soup.']));
    const replies = await Promise.all(Array.from({ length: 8 }, () => start('clerk')));
    expect(replies.every(({ status }) => status === 202)).toBe(true);
    await eventually('2 jobs run', async () => ((await jobs('clerk'))['running'] === 2 ? true : undefined));
    await start('cook');
    await eventually('a third job runs', async () => ((await jobs('cook'))['running'] === 1 ? true : undefined));
    expect(await jobs('clerk')).toEqual({ running: 2, queued: 6 });
    gate.open();
    await eventually('all complete', async () => ((await jobs('clerk'))['completed'] === 8 ? true : undefined));
  });

  it('refuses the rest of 8 parallel starts with whenFull `reject`, and names the limit', async () => {
    const { owner, start, jobs } = await openWithAgents();
    const { workspaceId } = owner.principal;
    await database.postgres.withWorkspaceSql(workspaceId, (client) =>
      client.query(`UPDATE workspace SET when_full = 'reject' WHERE id = $1`, [workspaceId]),
    );
    const gate = createGate();
    model.enqueue(...Array.from({ length: 2 }, () => gated(gate)));
    const replies = await Promise.all(Array.from({ length: 8 }, () => start('clerk')));
    expect(replies.map(({ status }) => status).sort()).toEqual([202, 202, 503, 503, 503, 503, 503, 503]);
    expect(replies.find(({ status }) => status === 503)?.body).toMatchObject({
      ...{ code: 'job_limit_reached', limit: 'maxRunningJobs', limitValue: 2, raisedBy: 'workspace_admin' },
    });
    gate.open();
    await eventually('both complete', async () => ((await jobs('clerk'))['completed'] === 2 ? true : undefined));
  });

  it('queues a job again when `auto` has chosen the agent, and asks the router once', async () => {
    const { start, jobs, eventsOf } = await openWithAgents();
    const choice = JSON.stringify({ route_id: 'clerk', reasoning: 'It fits.' });
    model.enqueue(toolCallReply([{ id: 'r', name: 'select_route', arguments: choice }]), textReply(['Filed.']));
    await start('auto');
    await eventually('the job completes', async () => ((await jobs('clerk'))['completed'] === 1 ? true : undefined));
    expect(await eventsOf('agent-selected')).toHaveLength(1);
    expect(await eventsOf('job-requeued')).toEqual([{ reason: 'agent chosen' }]);
  });
});
