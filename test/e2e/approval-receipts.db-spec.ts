import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { defineTool, ToolRegistry } from '#tools';

import { type ApprovalStage, openApprovalStage } from '../harness/approval-stage.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';

let stage: ApprovalStage;

beforeAll(async () => {
  stage = await openApprovalStage();
});
afterAll(async () => {
  await stage.close();
});

describe('the receipt of an edited call', () => {
  it('shows the model no member that the tool calls sensitive', async () => {
    const input = { type: 'object', properties: { to: { type: 'string' }, pin: { type: 'string' } } };
    const execute = () => Promise.resolve('paid');
    const tool = defineTool({ name: 'pay', description: 'Pays.', input, sensitiveFields: ['pin'], execute });
    stage.engine.app.get(ToolRegistry).register(tool);
    await stage.policy({ rules: [{ match: 'pay', action: 'require_approval' }] });
    stage.model.enqueue(
      toolCallReply([{ id: 'call_a', name: 'pay', arguments: '{"to":"ada"}' }]),
      textReply(['Done.']),
    );
    const { jobId } = await stage.ask(['pay']);
    const [interrupt] = await stage.waits(jobId);
    if (interrupt === undefined) throw new Error('nothing is asked');
    const { argumentsHash } = interrupt.request;
    const edited = { decision: 'approve', argumentsHash, arguments: { to: 'bob', pin: '4321' } };
    await stage.decide(stage.people.member, interrupt, edited);
    await stage.ended(jobId);
    const messages = stage.model.requests.at(-1)?.json['messages'] as { readonly content: string }[]; // as we sent them
    expect(messages.at(-1)?.content).toBe(
      'Approval receipts: call_a approved by a person with edited arguments {"pin":"***","to":"bob"}.',
    );
    stage.model.assertDone();
  });
});
