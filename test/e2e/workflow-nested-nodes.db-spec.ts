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
const noRetry = { errorHandling: { retry: { maxRetries: 0 } } };
const loop = (data: object) => ({ type: 'whileLoop', conditionModel: 'scripted', ...data });
const ways = ['start -> loop', 'loop.body -> step', 'loop.done -> out'];
/** Returns its input, so that no model is needed. */
const echo = (expression = 'input + "+"') => ({ type: 'transform', expression });

describe('loop node', () => {
  it('evaluates its condition before each iteration until it is done', async () => {
    stage.script('Repeat?', textReply(['Continue.']), textReply(['continue']), textReply(['Done.']));
    stage.script('Improve it.', textReply(['Better.']), textReply(['Best.']));
    const nodes = {
      loop: loop({ conditionPrompt: 'Repeat?' }),
      step: agent('Improve it.'),
      out: { ...output, sources: ['loop'] },
    };
    const jobId = await stage.run(nodes, ways, { prompt: 'Good.' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Best.' });
    expect((await stage.runsOf(jobId)).map(({ node }) => node)).toEqual(['start', 'loop', 'step@1', 'step@2', 'out']);
    expect(stage.requests('Repeat?').map(({ json }) => [json['temperature'], json['max_tokens']])).toEqual(
      Array(3).fill([0, 10]),
    );
    expect(stage.asked('Repeat?').map((messages) => messages.at(-1)?.content)).toEqual([
      expect.stringContaining('Initial input: Good.'),
      expect.stringContaining('Last output: Better.'),
      expect.stringContaining('Last output: Best.'),
    ]);
    expect(stage.asked('Improve it.').map((messages) => messages.at(-1)?.content)).toEqual([
      'Good.',
      '[Previous attempts (1):]\n\nAttempt 1: Better.\n\n[Current input to improve:]\n\nBetter.',
    ]);
    expect((await stage.eventsOf(jobId, 'loop-iteration')).map(({ body }) => body)).toEqual([
      { nodeId: 'loop', iteration: 1, maxIterations: 10 },
      { nodeId: 'loop', iteration: 2, maxIterations: 10 },
    ]);
  });

  it('outputs its input when it runs no iteration', async () => {
    stage.script('More?', textReply(['done']));
    const nodes = {
      loop: loop({ conditionPrompt: 'More?' }),
      step: agent('Never.'),
      out: { ...output, sources: ['loop'] },
    };
    const jobId = await stage.run(nodes, ways, { prompt: 'As it is.' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'As it is.' });
    expect((await stage.runsOf(jobId)).map(({ node }) => node)).toEqual(['start', 'loop', 'out']);
  });

  it('runs a fixed number of passes without a condition and collects their outputs', async () => {
    const fixed = { loopMode: 'fixed', maxIterations: 3, outputMode: 'accumulate', includePreviousOutputs: false };
    const nodes = { loop: loop(fixed), step: echo(), out: { ...output, sources: ['loop'] } };
    const jobId = await stage.run(nodes, ways, { prompt: 'a' });
    const content = '{"iterations":3,"outputs":["a+","a++","a+++"],"finalOutput":"a+++"}';
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content });
  });

  it('evaluates no condition after its last permitted pass, and warns', async () => {
    stage.script('And now?', textReply(['continue']));
    const nodes = {
      loop: loop({ conditionPrompt: 'And now?', maxIterations: 1 }),
      step: echo(),
      out: { ...output, sources: ['loop'] },
    };
    const jobId = await stage.run(nodes, ways, { prompt: 'a' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'a+' });
    expect((await stage.eventsOf(jobId, 'warning')).map(({ body }) => body)).toEqual([
      { code: 'MAX_ITERATIONS', text: 'While loop reached max iterations (1)', nodeId: 'loop' },
    ]);
  });

  it('fails at its limit with onMaxIterations error', async () => {
    stage.script('Once more?', textReply(['continue']));
    const limit = { conditionPrompt: 'Once more?', maxIterations: 1, onMaxIterations: 'error' };
    const jobId = await stage.run({ loop: loop(limit), step: echo(), out: output }, ways);
    expect(await stage.ended(jobId)).toMatchObject({
      status: 'failed',
      error: { message: 'While loop reached max iterations (1)' },
    });
  });

  it('fails when its condition fails', async () => {
    stage.script('Well?', errorReply(400));
    const nodes = { loop: loop({ conditionPrompt: 'Well?', ...noRetry }), step: echo(), out: output };
    const jobId = await stage.run(nodes, ways);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'failed', error: { code: 'VALIDATION' } });
    expect(await stage.statusesOf(jobId)).toEqual({ start: 'completed', loop: 'error', out: 'skipped' });
  });

  it('runs inside another loop, each iteration with its own numbers', async () => {
    const twice = { loopMode: 'fixed', maxIterations: 2, includePreviousOutputs: false };
    const nodes = {
      outer: loop(twice),
      inner: loop(twice),
      step: echo(),
      mark: echo('input + "|"'),
      out: { ...output, sources: ['outer'] },
    };
    const edges = [
      'start -> outer',
      'outer.body -> inner',
      'inner.body -> step',
      'inner.done -> mark',
      'outer.done -> out',
    ];
    const jobId = await stage.run(nodes, edges, { prompt: 'a' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'a++|++|' });
    const [, , ...inside] = await stage.runsOf(jobId);
    expect(inside.map(({ node, output: text }) => `${node} ${text ?? ''}`)).toEqual([
      ...['inner@1 a++', 'step@1.1 a+', 'step@1.2 a++', 'mark@1 a++|'],
      ...['inner@2 a++|++', 'step@2.1 a++|+', 'step@2.2 a++|++', 'mark@2 a++|++|', 'out a++|++|'],
    ]);
    const [event] = (await stage.eventsOf(jobId, 'node-started')).filter(({ body }) => body['nodeId'] === 'step');
    expect(event?.body).toMatchObject({ path: ['outer', 'inner'], iteration: 1 });
  });

  it('adds no text of its body to the content of the job', async () => {
    stage.script('Say it.', textReply(['Spoken.']));
    const nodes = {
      loop: loop({ loopMode: 'fixed', maxIterations: 1 }),
      step: agent('Say it.'),
      out: { ...output, introText: 'So:', sources: ['loop'] },
    };
    const jobId = await stage.run(nodes, ways);
    expect(await stage.ended(jobId)).toMatchObject({ content: 'So:\n\nSpoken.', attempt: 0 });
    expect(
      (await stage.eventsOf(jobId, 'text-delta')).map(({ body }) => [body['nodeId'], body['offset'], body['text']]),
    ).toEqual([
      ['step', undefined, 'Spoken.'],
      [undefined, 0, 'So:\n\nSpoken.'],
    ]);
  });
});

describe('map node', () => {
  const mapWays = ['start -> map', 'map.body -> step', 'map.done -> out'];
  const map = (data: object = {}) => ({ type: 'map', ...data });
  const out = { ...output, sources: ['map'] };

  it('runs its body once per item and returns the outputs in order', async () => {
    stage.script('Shout.', ...['A!', 'B!', 'C!'].map((text) => textReply([text])));
    const nodes = { map: map({ maxConcurrency: 1 }), step: agent('Shout.'), out };
    const jobId = await stage.run(nodes, mapWays, { prompt: '["a","b","c"]' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: '["A!","B!","C!"]' });
    expect(stage.asked('Shout.').map((messages) => messages.at(-1)?.content)).toEqual(['a', 'b', 'c']);
    expect((await stage.runsOf(jobId)).map(({ node }) => node)).toEqual([
      ...['start', 'map', 'step@1', 'step@2', 'step@3', 'out'],
    ]);
  });

  it('returns an empty list for an empty list', async () => {
    const jobId = await stage.run({ map: map(), step: echo(), out }, mapWays, { prompt: '[]' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: '[]' });
  });

  it('fails for an input that is not a list', async () => {
    const jobId = await stage.run({ map: map(), step: echo(), out }, mapWays, { prompt: 'nothing of the kind' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'failed' });
    expect(await stage.statusesOf(jobId)).toEqual({ start: 'completed', map: 'error', out: 'skipped' });
  });

  it('leaves the output of a failed item empty with `continue`, and otherwise stops', async () => {
    const nodes = (onItemError: string) => ({
      map: map({ items: '[1, 0, 2]', onItemError }),
      step: { type: 'transform', expression: '10 / int(input)', ...noRetry },
      out,
    });
    const went = await stage.run(nodes('continue'), mapWays);
    expect(await stage.ended(went)).toMatchObject({ status: 'completed', content: '["10","","5"]' });
    const stopped = await stage.run(nodes('stop'), mapWays);
    expect(await stage.ended(stopped)).toMatchObject({ status: 'failed' });
    expect(await stage.statusesOf(stopped)).toMatchObject({ map: 'error', 'step@2': 'error', out: 'skipped' });
  });
});

describe('subflow node', () => {
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
