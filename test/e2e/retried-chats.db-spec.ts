import { afterAll, beforeAll, expect, it } from '@jest/globals';

import { ChatService } from '#chat';

import { type ApprovalStage, openApprovalStage } from '../harness/approval-stage.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';

let stage: ApprovalStage;

beforeAll(async () => {
  stage = await openApprovalStage({ FEATURE_CLIENT_TOOLS: 'off' });
});
afterAll(async () => {
  await stage.close();
});

it('a retried chat skips its client tool calls when client tools were disabled meanwhile', async () => {
  stage.model.enqueue({ status: 400, body: ['{"error":{"message":"no"}}'] });
  const definition = { type: 'function', function: { name: 'open_file' } } as const;
  const { jobId } = await stage.ask([], { tools: [definition] });
  expect(await stage.ended(jobId)).toMatchObject({ status: 'failed' });
  // As it was stored while they were on.
  await stage.rows(
    `UPDATE job SET input = input || '{"client":{"deviceId":null,"tools":{"open_file":{}}}}' WHERE id = $1`,
    [jobId],
  );
  stage.model.enqueue(
    toolCallReply([{ id: 'call_1', name: 'open_file', arguments: '{}' }]),
    textReply(['Never mind.']),
  );
  const again = await stage.engine.app.get(ChatService).retry(stage.people.member, jobId);
  expect(await stage.ended(again.jobId)).toMatchObject({ status: 'completed', calls: [{ status: 'skipped' }] });
  expect(await stage.rows(`SELECT input ? 'client' AS client FROM job WHERE id = $1`, [again.jobId])).toEqual([
    { client: false },
  ]);
});

it('ChatService.retry rejects a /v1 job whose client runs the tools', async () => {
  stage.model.enqueue({ status: 400, body: ['{"error":{"message":"no"}}'] });
  const { jobId } = await stage.ask([]);
  expect(await stage.ended(jobId)).toMatchObject({ status: 'failed' });
  const client = { deviceId: null, tools: {}, handedOver: { timeoutMs: 1_000 } };
  await stage.rows('UPDATE job SET input = input || $2 WHERE id = $1', [jobId, JSON.stringify({ client })]);
  const again = stage.engine.app.get(ChatService).retry(stage.people.member, jobId);
  await expect(again).rejects.toMatchObject({ code: 'conflict', message: expect.stringContaining('again') });
});
