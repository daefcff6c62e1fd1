import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import type { MemberPrincipal } from '#auth';

import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { startTestEngine, type TestEngine } from '../harness/engine.js';
import { eventually } from '../harness/eventually.js';
import { everyEvent } from '../harness/every-event.js';
import { openTestIdentities } from '../harness/identities.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';
import { publish, sketch, startWorkflow } from '../harness/workflows.js';

let database: TestDatabase;
let model: ScriptedModel;
let engine: TestEngine;
let owner: MemberPrincipal;

beforeAll(async () => {
  database = await createTestDatabase();
  model = await ScriptedModel.start();
  engine = await startTestEngine(database, { MODEL_BASE_URL: model.url });
  ({ owner } = await openTestIdentities(database).workspaceOf('here'));
});
afterEach(() => {
  model.assertDone();
});
afterAll(async () => {
  await engine.close();
  await model.close();
  await database.close();
});

async function sql<Row>(text: string, values: readonly unknown[]): Promise<Row[]> {
  return database.postgres.withWorkspaceSql(owner.workspaceId, async (client) => {
    const { rows } = await client.query<Row & Record<string, unknown>>(text, [...values]);
    return rows;
  });
}

interface JobRow {
  readonly status: string;
  readonly error: unknown;
}

async function ended(jobId: string): Promise<JobRow> {
  return eventually('the job has ended', async () => {
    const [job] = await sql<JobRow>('SELECT status, error FROM job WHERE id = $1', [jobId]);
    return job !== undefined && ['completed', 'failed', 'cancelled'].includes(job.status) ? job : undefined;
  });
}

const runsOf = (jobId: string) =>
  sql<{ node_id: string; status: string; output: string | null }>(
    'SELECT node_id, status, output FROM node_run WHERE job_id = $1 ORDER BY ordinal',
    [jobId],
  );

const typesOf = async (jobId: string) =>
  (await sql<{ type: string }>(`SELECT type FROM ${everyEvent} e WHERE job_id = $1 ORDER BY seq`, [jobId])).map(
    ({ type }) => type,
  );

let names = 0;
async function run(nodes: Parameters<typeof sketch>[0], edges: readonly string[], prompt = 'Hello'): Promise<string> {
  names += 1;
  const workflow = await publish(engine, owner, sketch(nodes, edges, { name: `workflow ${names}` }));
  return startWorkflow(engine, owner, { workflow, prompt });
}

describe('workflow job', () => {
  it('runs its nodes one after the other, and ends with the output of the last', async () => {
    const jobId = await run({ out: { type: 'output', format: 'text', introText: 'Result:' } }, ['start -> out']);
    expect(await ended(jobId)).toEqual({ status: 'completed', error: null });
    expect(await runsOf(jobId)).toEqual([
      { node_id: 'start', status: 'completed', output: 'Hello' },
      { node_id: 'out', status: 'completed', output: 'Result:\n\nHello' },
    ]);
    expect(await typesOf(jobId)).toEqual([
      ...['job-queued', 'job-started', 'node-started', 'node-finished', 'node-started', 'node-finished'],
      ...['text-delta', 'job-finished'],
    ]);
  });

  it('sends earlier outputs and tools to its agents', async () => {
    model.enqueue(
      textReply(['Draft.']),
      toolCallReply([{ id: 'c', name: 'calculate', arguments: '{"expression":"6*7"}' }]),
      textReply(['It is 42.']),
    );
    const jobId = await run(
      {
        writer: { type: 'agent', model: 'scripted', prompt: 'You write.' },
        editor: { type: 'agent', model: 'scripted', prompt: 'You edit.', tools: ['calculate'] },
      },
      ['start -> writer', 'writer -> editor'],
    );
    expect(await ended(jobId)).toEqual({ status: 'completed', error: null });
    const asked = model.requests.map(({ json }) => json['messages']);
    expect(asked[0]).toEqual([
      { role: 'system', content: expect.stringMatching(/^You write\./) },
      { role: 'user', content: 'Hello' },
    ]);
    expect((await runsOf(jobId)).map(({ output }) => output)).toEqual(['Hello', 'Draft.', 'It is 42.']);
    const calls = await sql('SELECT name, status, result FROM tool_call WHERE job_id = $1', [jobId]);
    expect(calls).toEqual([{ name: 'calculate', status: 'completed', result: '42' }]);
  });
});
