import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { eventually } from '../harness/eventually.js';
import { errorReply, textReply } from '../harness/scripted-reply.js';
import { agent, openWorkflowStage, type WorkflowStage } from '../harness/workflow-stage.js';

let stage: WorkflowStage;

beforeAll(async () => {
  stage = await openWorkflowStage();
});
afterEach(() => {
  stage.assertPlayed();
});
afterAll(async () => {
  await stage.close();
});

const output = { type: 'output', format: 'text' };
const say = (text: string) => ({ ...output, template: `${text}: {{input}}` });
const sub = (subflowId: string, more: object = {}) => ({
  ...{ type: 'subflow', subflowId, inputMappings: { input: '{{input}}' } },
  ...more,
});
const two = {
  subflow: {
    inputs: [
      { id: 'topic', name: 'Topic', type: 'string', required: true },
      { id: 'style', name: 'Style', type: 'string', default: 'plain' },
    ],
    outputs: [{ id: 'output', name: 'Output', type: 'string' }],
  },
};

describe('subflow node', () => {
  it('reads its inputs and nothing else of the parent workflow', async () => {
    const out = { ...output, template: '{{inputs.topic}}, {{inputs.style}}: {{write}}' };
    const child = await stage.publish({ write: agent('Write it.'), out }, ['start -> write', 'write -> out'], two);
    stage.script('Prepare.', textReply(['Prepared.']));
    stage.script('Write it.', textReply(['Written.']));
    const mapped = sub(child, { inputMappings: { topic: 'About {{start}}' } });
    const nodes = { prepare: agent('Prepare.'), inner: mapped, end: say('End') };
    const jobId = await stage.run(nodes, ['start -> prepare', 'prepare -> inner', 'inner -> end'], { prompt: 'cats' });
    expect(await stage.ended(jobId)).toMatchObject({
      status: 'completed',
      content: 'End: About cats, plain: Written.',
    });
    expect(stage.asked('Write it.')).toEqual([
      [
        { role: 'system', content: 'Write it.\n\nContext from previous agents:\n[start]: About cats' },
        { role: 'user', content: 'About cats' },
      ],
    ]);
    expect((await stage.runsOf(jobId)).map(({ node }) => node)).toEqual([
      ...['start', 'prepare', 'inner', 'sf:inner|start', 'sf:inner|write', 'sf:inner|out', 'end'],
    ]);
    const [event] = (await stage.eventsOf(jobId, 'node-started')).filter(
      ({ body }) => body['nodeId'] === 'sf:inner|write',
    );
    expect(event?.body).toMatchObject({ path: ['inner'], label: 'write' });
  });

  it('streams under its own node ids and not as content of the job', async () => {
    const child = await stage.publish({ write: agent('Write it.') }, ['start -> write']);
    stage.script('Write it.', textReply(['Written.']));
    const jobId = await stage.run({ inner: sub(child) }, ['start -> inner']);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Written.', attempt: 0 });
    const deltas = (await stage.eventsOf(jobId, 'text-delta')).map(({ body }) => [
      body['nodeId'],
      body['offset'],
      body['text'],
    ]);
    expect(deltas).toEqual([
      ['sf:inner|write', undefined, 'Written.'],
      [undefined, 0, 'Written.'],
    ]);
  });

  it('contains another subflow, and a loop with a request to a person', async () => {
    const ask = { type: 'approval', prompt: 'Again?' };
    const loop = { type: 'whileLoop', loopMode: 'fixed', maxIterations: 2 };
    const deep = await stage.publish({ loop, ask, out: { ...output, sources: ['loop'] } }, [
      'start -> loop',
      'loop.body -> ask',
      'loop.done -> out',
    ]);
    const middle = await stage.publish({ inner: sub(deep) }, ['start -> inner']);
    const jobId = await stage.run({ outer: sub(middle), end: say('End') }, ['start -> outer', 'outer -> end']);
    let last: string | undefined;
    for (const text of ['one', 'two']) {
      const asked = await eventually('it asks again', async () => {
        const all = [...(await stage.waitsAt(jobId)).values()];
        return all[0]?.id === last ? undefined : all;
      });
      last = asked[0]?.id;
      expect(asked).toMatchObject([
        { nodeId: 'sf:outer|sf:inner|ask', path: ['outer', 'sf:outer|inner', 'sf:outer|sf:inner|loop'] },
      ]);
      await stage.answer(asked[0], { action: 'modify', data: text });
    }
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'End: two' });
    expect(await stage.outputsOf(jobId)).toMatchObject({
      'sf:outer|sf:inner|ask@1': 'one',
      'sf:outer|sf:inner|ask@2': 'two',
    });
  });

  const once = { errorHandling: { retry: { maxRetries: 0 } } };

  it('fails its node when it fails', async () => {
    const child = await stage.publish({ write: agent('Fail in there.', once) }, ['start -> write']);
    stage.script('Fail in there.', errorReply(400));
    const jobId = await stage.run({ inner: sub(child), end: say('End') }, ['start -> inner', 'inner -> end']);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'failed', error: { code: 'VALIDATION' } });
    expect(await stage.statusesOf(jobId)).toEqual({
      ...{ start: 'completed', inner: 'error', end: 'skipped' },
      ...{ 'sf:inner|start': 'completed', 'sf:inner|write': 'error' },
    });
  });

  it('follows its error edge when it fails', async () => {
    const child = await stage.publish({ write: agent('Fail in there.', once) }, ['start -> write']);
    stage.script('Fail in there.', errorReply(400, { error: { message: 'no' } }));
    const jobId = await stage.run({ inner: sub(child), end: say('End'), no: say('No') }, [
      'start -> inner',
      'inner.output -> end',
      'inner.error -> no',
    ]);
    const { status, content } = await stage.ended(jobId);
    expect([status, content]).toEqual(['completed', expect.stringMatching(/^No: Subflow error: .+/)]);
  });

  it('uses the version published at the start of its job', async () => {
    const child = await stage.publish({ ok: { type: 'approval', prompt: 'Ok?' }, out: say('Old') }, [
      'start -> ok',
      'ok -> out',
    ]);
    const jobId = await stage.run({ inner: sub(child) }, ['start -> inner']);
    const [asked] = (await stage.waitsAt(jobId)).values();
    await stage.republish(child, { out: say('New') }, ['start -> out']);
    await stage.answer(asked, { action: 'approve' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Old: Hello' });
    const later = await stage.run({ inner: sub(child) }, ['start -> inner']);
    expect(await stage.ended(later)).toMatchObject({ status: 'completed', content: 'New: Hello' });
  });
});
