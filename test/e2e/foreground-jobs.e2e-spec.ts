import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { connect } from '../harness/graphql.js';
import { type GraphqlMember, graphqlMember } from '../harness/graphql-member.js';
import { type RestJobs, restJobs } from '../harness/rest-jobs.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { createGate, textChunk, textReply } from '../harness/scripted-reply.js';

const JOB = 'query($id: ID!) { job(id: $id) { status content error { code } } }';

describe('BACKGROUND_JOBS_ENABLED=false', () => {
  let database: TestDatabase;
  let model: ScriptedModel;
  let test: TestApi;
  let owner: TestMember;
  let user: GraphqlMember;
  let rest: RestJobs;

  beforeAll(async () => {
    database = await createTestDatabase();
    model = await ScriptedModel.start();
    const env = { MODEL_BASE_URL: model.url, BACKGROUND_JOBS_ENABLED: 'false', FOREGROUND_GRACE_MS: '4000' };
    test = await startTestApi(database, { env });
    ({ owner } = await test.people.workspaceOf('foreground'));
    user = graphqlMember(test, owner.key);
    rest = restJobs(test, owner.key);
  });

  afterAll(async () => {
    await test.close();
    await model.close();
    await database.close();
  });

  /** A job whose model does not end before the gate opens. */
  const start = async () => {
    const gate = createGate();
    model.enqueue({ body: [textChunk('a'), gate, textChunk('b'), ...textReply([]).body] });
    const { jobId } = await user.start({ message: 'Go' });
    if (jobId === null) throw new Error('not started');
    return { jobId, gate };
  };
  const becomes = (jobId: string, status: string) =>
    eventually(`the job is ${status}`, async () => {
      const { job } = await user.query(JOB, { id: jobId });
      return (job as { status: string }).status === status ? job : undefined;
    });
  const reasonOf = async (jobId: string) => {
    const { rows } = await database.postgres.engine.query<{ reason: string }>(
      `SELECT body->>'reason' AS reason FROM job_event WHERE job_id = $1 AND type = 'job-finished'`,
      [jobId],
    );
    return rows[0]?.reason;
  };
  const EVENTS = 'subscription($id: ID!) { jobEvents(jobId: $id) { __typename } }';

  it('cancels a job that no client follows after its start', async () => {
    const { jobId } = await start();
    await becomes(jobId, 'CANCELLED');
    expect(await reasonOf(jobId)).toBe('client_disconnected');
  });

  it('runs a job while a client follows it, and cancels it after the last client disconnects', async () => {
    const followed = await start();
    const stream = await rest.watch(followed.jobId);
    await stream.until(() => true);
    const client = connect(test, { authorization: `Bearer ${owner.key}` });
    const events = client.iterate({ query: EVENTS, variables: { id: followed.jobId } });
    await events.next();
    // The grace time of a job that was started later ends later.
    await becomes((await start()).jobId, 'CANCELLED');
    stream.leave();
    await becomes((await start()).jobId, 'CANCELLED');
    expect(await user.query(JOB, { id: followed.jobId })).toMatchObject({ job: { status: 'RUNNING' } });
    await client.dispose();
    await becomes(followed.jobId, 'CANCELLED');
    expect(await reasonOf(followed.jobId)).toBe('client_disconnected');
  });

  it('cancels the job of a /v1 request when its client disconnects, and completes it when the client stays', async () => {
    const complete = (signal: AbortSignal) =>
      fetch(`${test.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${owner.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'scripted', stream: true, messages: [{ role: 'user', content: 'Go' }] }),
        signal,
      });
    const gates = [createGate(), createGate()] as const;
    for (const gate of gates) model.enqueue({ body: [textChunk('a'), gate, textChunk('b'), ...textReply([]).body] });
    const leaving = new AbortController();
    const left = await complete(leaving.signal);
    expect(left.status).toBe(200);
    const stayed = await complete(new AbortController().signal);
    leaving.abort();
    await becomes(left.headers.get('x-job-id') ?? '', 'CANCELLED');
    gates[1].open();
    expect(await stayed.text()).toContain('data: [DONE]');
    await becomes(stayed.headers.get('x-job-id') ?? '', 'COMPLETED');
  });
});
