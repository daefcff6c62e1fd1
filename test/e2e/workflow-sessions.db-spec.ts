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

describe('a session that is longer than what the model can read', () => {
  it('is told from where it fits, and viewers are told so', async () => {
    const history = Array.from({ length: 8 }, (_, i) => ({
      role: i % 2 === 0 ? ('user' as const) : ('assistant' as const),
      content: `${i} `.padEnd(2_000, 'x'),
    }));
    stage.script('Go on.', textReply(['Gone on.']));
    const jobId = await stage.run({ a: agent('Go on.') }, ['start -> a'], { history });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Gone on.' });
    const said = stage.asked('Go on.')[0]?.map(({ content }) => (content as string).slice(0, 6));
    // It reads 2,000 tokens, of which a message of the history has 500; the five newest are told in any case.
    expect(said).toEqual(['Go on.', '4 xxxx', '5 xxxx', '6 xxxx', '7 xxxx', 'Hello']);
    expect(await stage.eventsOf(jobId, 'warning')).toEqual([
      expect.objectContaining({ body: expect.objectContaining({ code: 'SESSION_COMPACTED', nodeId: 'a' }) }),
    ]);
  });
});
