import { afterAll, beforeAll, expect, it } from '@jest/globals';

import { AgentsService } from '#chat';
import { OpenStreams } from '#platform/api';
import { WorkflowsService } from '#workflows';

import type { Reply } from '../harness/api.js';
import { eventually } from '../harness/eventually.js';
import { errorOf, executedJob, type ExecuteStage, openExecuteStage } from '../harness/execute-stage.js';
import { restJobs } from '../harness/rest-jobs.js';
import { publish, sketch } from '../harness/workflows.js';

let stage: ExecuteStage;

beforeAll(async () => {
  stage = await openExecuteStage();
  const { app } = stage.test.api;
  const { principal } = stage.people.owner;
  const nodes = { a: { type: 'approval', prompt: 'Well?' }, b: { type: 'approval', prompt: 'Sure?' } };
  const graphs = [
    sketch({ a: nodes.a }, ['start -> a'], { name: 'once' }),
    sketch(nodes, ['start -> a', 'a -> b'], { name: 'twice' }),
  ];
  for (const graph of graphs) {
    const { id } = await publish({ app }, principal, graph);
    await app.get(WorkflowsService).offerAsTool(principal, id, true);
  }
  await app.get(AgentsService).create(principal, { name: 'Editor', tools: ['workflow.*'] });
});
afterAll(async () => {
  await stage.close();
});

const asks = (name: string) => ({ agent: 'editor', tool_name: `workflow.${name}`, arguments: { input: 'Hello' } });
const answer = (id: string) =>
  stage.test.call('POST', `/api/interrupts/${id}/decision`, {
    key: stage.people.owner.key,
    body: { action: 'approve' },
  });

/** Gives the open request that a response names. */
function waitingFor(reply: Reply): string {
  expect([reply.status, errorOf(reply)]).toEqual([
    504,
    { message: 'The job is still running in the background', type: 'server_error', param: null, code: 'still_running' },
  ]);
  expect(reply.headers.get('x-should-retry')).toBe('false');
  return reply.headers.get('x-waiting-approval') ?? '';
}

it('POST /v1/tools/execute names the open request of a workflow at once, and its job keeps running', async () => {
  const reply = await stage.execute(asks('once'));
  const id = waitingFor(reply);
  const { body } = await stage.test.call('GET', `/api/interrupts/${id}`, { key: stage.people.owner.key });
  expect(body).toMatchObject({ status: 'open', kind: 'human_input', rootJobId: executedJob(reply) });
  expect((await answer(id)).status).toBe(200);
  const jobs = restJobs(stage.test, stage.people.owner.key);
  await eventually('the job has its result', async () => {
    const { status } = await jobs.status(executedJob(reply));
    return status === 'complete' ? status : undefined;
  });
});

it('POST /v1/tools/execute waits while only requests are open that the caller knows', async () => {
  const key = { 'idempotency-key': 'twice' };
  const again = (known?: string) =>
    stage.execute(asks('twice'), { headers: { ...key, ...(known !== undefined && { 'x-waiting-approval': known }) } });
  const held = async (known: string) => {
    const reply = again(known);
    await eventually('it is held', () => (stage.test.api.app.get(OpenStreams).size === 1 ? true : undefined));
    return { reply };
  };

  const first = await again();
  const known = waitingFor(first);
  expect(waitingFor(await again())).toBe(known);
  const second = await held(known);
  await answer(known);
  const next = waitingFor(await second.reply);
  expect(next).not.toBe(known);
  const third = await held(`${known}, ${next}`);
  await answer(next);
  const done = await third.reply;
  expect([done.status, executedJob(done)]).toEqual([200, executedJob(first)]);
  expect(done.headers.get('x-waiting-approval')).toBeNull();
  expect((await again()).body).toEqual(done.body);
});
