import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { textReply } from '../harness/scripted-reply.js';
import { agent, openWorkflowStage, type WorkflowStage } from '../harness/workflow-stage.js';

let stage: WorkflowStage;

beforeAll(async () => {
  stage = await openWorkflowStage({ MODEL_CONTEXT_TOKENS: '12000' });
});
afterEach(() => {
  stage.assertPlayed();
});
afterAll(async () => {
  await stage.close();
});

describe('session longer than the context of the model', () => {
  it('drops its oldest messages and warns viewers', async () => {
    const history = Array.from({ length: 8 }, (_, i) => ({
      role: i % 2 === 0 ? ('user' as const) : ('assistant' as const),
      content: `${i} `.padEnd(2_000, 'x'),
    }));
    stage.script('Continue.', textReply(['Done.']));
    const jobId = await stage.run({ a: agent('Continue.') }, ['start -> a'], { history });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Done.' });
    const contents = stage.asked('Continue.')[0]?.map(({ content }) => (content as string).slice(0, 6));
    // It reads 2,000 tokens, of which a message of the history has 500; the five newest are sent in any case.
    expect(contents).toEqual(['Contin', '4 xxxx', '5 xxxx', '6 xxxx', '7 xxxx', 'Hello']);
    expect(await stage.eventsOf(jobId, 'warning')).toEqual([
      expect.objectContaining({ body: expect.objectContaining({ code: 'SESSION_COMPACTED', nodeId: 'a' }) }),
    ]);
  });
});
