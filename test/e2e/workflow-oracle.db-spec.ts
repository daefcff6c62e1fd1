import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { eventually } from '../harness/eventually.js';
import { runThere } from '../harness/oracle-library.js';
import { definition, worldOf } from '../harness/oracle-sides.js';
import { createGate, textReply } from '../harness/scripted-reply.js';
import { agent, openWorkflowStage, type WorkflowStage } from '../harness/workflow-stage.js';

let stage: WorkflowStage;

beforeAll(async () => {
  stage = await openWorkflowStage({ LOG_LEVEL: 'error' });
});
afterEach(() => {
  stage.assertPlayed();
});
afterAll(async () => {
  await stage.close();
});

const review = { hitl: { enabled: true, mode: 'review' } };

/** The lines of the list of differences that only whole jobs show. */
describe('or3-workflow-core does otherwise than a job', () => {
  it('3: there the text of the last node of a body is workflow output; here only the text of its own last nodes', async () => {
    const loop = { conditionPrompt: '<more?>', loopMode: 'fixed', maxIterations: 1 };
    const heard: string[] = [];
    await runThere(
      definition({ l: ['whileLoop', loop], b: 'agent', z: 'agent' }, ['start > l', 'l:body > b', 'l:done > z']),
      worldOf({ b: 'Inside', z: 'Last' }, { heard: (text) => heard.push(text) }),
    );
    expect(heard).toEqual(['Inside', 'Last']);

    stage.script('Inside.', textReply(['Inside']));
    stage.script('Last.', textReply(['Last']));
    const nodes = { l: { type: 'whileLoop', ...loop }, b: agent('Inside.'), z: agent('Last.') };
    const jobId = await stage.run(nodes, ['start -> l', 'l.body -> b', 'l.done -> z']);
    expect(await stage.ended(jobId)).toMatchObject({ content: 'Last' });
    const deltas = (await stage.eventsOf(jobId, 'text-delta')).filter(({ body }) => 'offset' in body);
    expect(deltas.map(({ body }) => body['text'])).toEqual(['Last']);
  });

  it('10: there a restart repeats a request that was sent back; here it continues after it', async () => {
    const document = definition({ a: ['agent', review] }, ['start > a']);
    const texts = ['Draft', 'lost', 'Draft', 'Better'];
    const seen: (string | undefined)[] = [];
    const world = worldOf(
      {
        a: () =>
          texts[0] === 'lost' ? { text: '', fail: { message: 'lost', status: 401 } } : { text: texts[0] ?? '' },
      },
      {
        person: (_, output) => {
          texts.shift();
          seen.push(output);
          return { action: 'reject' };
        },
      },
    );
    expect(await runThere(document, world)).toMatchObject({ success: false });
    texts.shift();
    const resumeFrom = {
      startNodeId: 'a',
      nodeOutputs: { start: 'Hello' },
      executionOrder: ['start'],
      resumeInput: 'Hello',
    };
    await runThere(document, world, { resumeFrom });
    expect(seen).toEqual(['Draft', 'Draft']);

    const gate = createGate();
    stage.script('Draft it.', textReply(['Draft']), { ...textReply(['lost']), before: gate }, textReply(['Better']));
    const jobId = await stage.run({ a: agent('Draft it.', review) }, ['start -> a']);
    const [first] = await stage.asks(jobId, 1);
    await stage.answer(first, { action: 'reject' });
    await eventually('it is written again', () => (stage.requests('Draft it.').length >= 2 ? true : undefined));
    await stage.loseLease(jobId);
    const [second] = [...(await stage.waitsAt(jobId)).values()];
    gate.open();
    expect([first, second].map((one) => one?.request['context'])).toEqual([
      expect.objectContaining({ output: 'Draft' }),
      expect.objectContaining({ output: 'Better' }),
    ]);
    await stage.answer(second, { action: 'approve' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Better' });
  });

  it('16: there a request never expires; here it does after seven days', async () => {
    const approval = { hitl: { enabled: true, mode: 'approval' } };
    const asked = createGate();
    const there = runThere(definition({ a: ['agent', approval] }, ['start > a']), worldOf({}), {
      onHITLRequest: (request) => {
        expect(request.expiresAt).toBeUndefined();
        asked.open();
        return new Promise(() => undefined);
      },
    });
    await Promise.race([asked.opened, there]);

    const jobId = await stage.run({ a: agent('Draft it.', approval) }, ['start -> a']);
    const [request] = await stage.asks(jobId, 1);
    const rows = await stage.rows<{ days: string }>(
      `SELECT round(extract(epoch FROM expires_at - created_at) / 86400) AS days FROM interrupt WHERE id = $1`,
      [request?.id],
    );
    expect(rows).toEqual([{ days: '7' }]);
    await stage.stop(jobId);
  });
});
