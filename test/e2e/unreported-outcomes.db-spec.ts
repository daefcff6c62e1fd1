import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import type { StartChat } from '#chat';
import { defineTool, ToolOutcomeUnknown, ToolRegistry } from '#tools';

import { type ApprovalStage, openApprovalStage } from '../harness/approval-stage.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';

let stage: ApprovalStage;
const keys: string[] = [];

beforeAll(async () => {
  stage = await openApprovalStage();
  stage.engine.app.get(ToolRegistry).register(
    defineTool({
      name: 'pay',
      description: 'd',
      input: { type: 'object' },
      execute: (_, { idempotencyKey }) => {
        keys.push(idempotencyKey);
        if (keys.length > 1) return 'paid';
        throw new ToolOutcomeUnknown('the line broke');
      },
    }),
  );
});
afterEach(() => {
  keys.length = 0;
  stage.model.assertDone();
});
afterAll(async () => {
  await stage.close();
});

const asked = async (changes: Partial<StartChat> = {}) => {
  stage.model.enqueue(
    toolCallReply([
      { id: 'p', name: 'pay', arguments: '{}' },
      { id: 'l', name: 'look_up', arguments: '{"to":"x"}' },
    ]),
    textReply(['Done.']),
  );
  const { jobId } = await stage.ask(['pay', 'look_up'], changes);
  const [interrupt] = await stage.waits(jobId);
  if (interrupt === undefined) throw new Error('no person is asked');
  return { jobId, interrupt };
};

describe('once tool with an unknown outcome', () => {
  it.each(['thread', 'request'] as const)(
    'asks a person and repeats the call with the same key only by decision (%s)',
    async (history) => {
      const { jobId, interrupt } = await asked({ history });
      expect(interrupt).toMatchObject({
        ...{ kind: 'unknown_outcome', tool: 'pay' },
        request: { startedAt: expect.any(Number) },
      });
      expect(keys).toHaveLength(1);
      await stage.decide(stage.people.member, interrupt, { decision: 'repeat' });
      expect(await stage.ended(jobId)).toMatchObject({ status: 'completed' });
      expect(keys).toEqual([`${jobId}:1:1`, `${jobId}:1:1`]);
    },
  );

  it('takes the result that a person reports', async () => {
    const { jobId, interrupt } = await asked();
    await stage.decide(stage.people.member, interrupt, { decision: 'happened', result: { receipt: 7 } });
    expect(await stage.ended(jobId)).toMatchObject({
      calls: [{ status: 'completed', result: '{"receipt":7}' }, { status: 'completed' }],
    });
    expect(keys).toHaveLength(1);
  });
});
