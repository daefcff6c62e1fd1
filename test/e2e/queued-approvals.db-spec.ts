import { afterAll, beforeAll, expect, it } from '@jest/globals';

import { ToolRegistry, ToolResults, ToolWorker } from '#tools';

import { type ApprovalStage, openApprovalStage } from '../harness/approval-stage.js';
import { eventually } from '../harness/eventually.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';
import { openTestToolQueue, type TestToolQueue, watchedTool } from '../harness/tool-queue.js';

let stage: ApprovalStage;
/** The processes of the isolated tools. */
let queue: TestToolQueue;

beforeAll(async () => {
  stage = await openApprovalStage();
  for (const effect of ['once', 'idempotent'] as const)
    stage.engine.app.get(ToolRegistry).register(watchedTool(effect, []));
  queue = await openTestToolQueue(stage.database, { workspaceId: stage.people.owner.workspaceId });
});
afterAll(async () => {
  await queue.close();
  await stage.close();
});

const call = (name: string) => ({ id: `call_${name}`, name, arguments: '{"depth":3}' });

it('a queued call that needs an approval now opens a request, and runs in the queue once it is approved', async () => {
  stage.model.enqueue(toolCallReply([call('once'), call('idempotent')]), textReply(['Rich.']));
  const { jobId } = await stage.ask(['once', 'idempotent']);
  expect(await stage.waits(jobId)).toEqual([]);
  await stage.policy({ rules: [{ match: 'once', action: 'require_approval' }] });
  queue.app.get(ToolWorker).start();
  await queue.app.get(ToolResults).start();
  const first = await queue.handling(1);
  expect(first.name).toBe('idempotent');
  const asked = await eventually('an approval is requested', async () => (await stage.waits(jobId))[0]);
  expect(asked).toMatchObject({
    kind: 'tool_approval',
    tool: 'once',
    callId: 'call_once',
    requester: stage.people.member.userId,
    request: { argumentsPreview: expect.stringContaining('depth') as unknown, approvable: true },
  });
  first.finish('gold');
  const { argumentsHash } = asked.request;
  await stage.decide(stage.people.member, asked, { decision: 'approve', argumentsHash });
  const second = await queue.handling(2);
  expect([second.name, second.args]).toEqual(['once', { depth: 3 }]);
  second.finish('silver');
  const { calls, content } = await stage.ended(jobId);
  expect(calls.map(({ name, status, result }) => [name, status, result])).toEqual([
    ['once', 'completed', 'silver'],
    ['idempotent', 'completed', 'gold'],
  ]);
  expect(content).toBe('Rich.');
});
