import { afterAll, beforeAll, expect, it } from '@jest/globals';

import { AgentsService, ChatService } from '#chat';

import { type ApprovalStage, openApprovalStage } from '../harness/approval-stage.js';
import { textReply } from '../harness/scripted-reply.js';

let stage: ApprovalStage;

beforeAll(async () => {
  stage = await openApprovalStage();
});
afterAll(async () => {
  await stage.close();
});

/** Whether a worker would claim the job that knows the first format only. */
async function isForAll(jobId: string): Promise<boolean> {
  const rows = await stage.rows('SELECT 1 FROM job WHERE id = $1 AND format <= 1', [jobId]);
  return rows.length === 1;
}

it('leaves a chat with an agent, and its retry, to workers that know agents; all workers take others', async () => {
  await stage.engine.app.get(AgentsService).create(stage.people.owner, { name: 'Clerk', instructions: 'Be brief.' });
  stage.model.enqueue({ status: 400, body: ['{"error":{"message":"no"}}'] });
  const { jobId } = await stage.ask([], { agent: { type: 'agent', ref: 'clerk' } });
  expect(await stage.ended(jobId)).toMatchObject({ status: 'failed' });
  stage.model.enqueue(textReply(['Filed.']), textReply(['Plain.']));
  const retried = await stage.engine.app.get(ChatService).retry(stage.people.member, jobId);
  expect(await stage.ended(retried.jobId)).toMatchObject({ status: 'completed', content: 'Filed.' });
  const plain = await stage.ask([]);
  expect(await stage.ended(plain.jobId)).toMatchObject({ status: 'completed', content: 'Plain.' });
  expect(await Promise.all([jobId, retried.jobId, plain.jobId].map(isForAll))).toEqual([false, false, true]);
});
