import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { eventually } from '../harness/eventually.js';
import { createGate, textChunk, textReply, toolCallReply } from '../harness/scripted-reply.js';
import { openSubJobStage, type SubJobStage } from '../harness/sub-jobs.js';
import { agent, openWorkflowStage, type WorkflowStage } from '../harness/workflow-stage.js';

const limited = (stopPolicy: object) => ({ meta: { execution: { stopPolicy } } });

let stage: WorkflowStage;

beforeAll(async () => {
  stage = await openWorkflowStage({ WORKFLOW_PAUSE_MS: '600000' }); // what is at work when its time is over comes to its end
});
afterEach(() => {
  stage.assertPlayed();
});
afterAll(async () => {
  await stage.close();
});

const plus = { type: 'transform', expression: 'text + "+"' };
const open = (jobId: string) => stage.rows(`SELECT 1 FROM interrupt WHERE job_id = $1 AND status = 'open'`, [jobId]);

describe('budget of a workflow run', () => {
  const three = { a: plus, b: plus, c: plus };
  const chain = ['start -> a', 'a -> b', 'b -> c'];

  it('opens a request when the granted node runs are used, and each approval grants as many again', async () => {
    const jobId = await stage.run(three, chain, limited({ maxSteps: 2 }));
    const [first] = await stage.waits(jobId);
    expect(first).toMatchObject({ kind: 'human_input', nodeId: '' });
    expect(first?.request).toMatchObject({
      prompt: 'It has used 2 of 2 steps. May it use 2 steps more?',
      options: [expect.objectContaining({ id: 'continue' }), expect.objectContaining({ id: 'stop' })],
    });
    expect(await stage.statusesOf(jobId)).toEqual({ start: 'completed', a: 'completed' });
    await stage.answer(first, { action: 'approve' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Hello+++' });
    expect((await stage.runsOf(jobId)).map(({ node }) => node)).toEqual(['start', 'a', 'b', 'c']);
    expect(await stage.rows('SELECT status FROM interrupt WHERE job_id = $1', [jobId])).toEqual([
      { status: 'resolved' },
    ]);
  });

  it('fails a run when the request is rejected', async () => {
    const jobId = await stage.run(three, chain, limited({ maxSteps: 2 }));
    await stage.answer((await stage.waits(jobId))[0], { action: 'reject' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'failed', error: { code: 'budget_exceeded' } });
  });

  it('fails a run when the request expires', async () => {
    const jobId = await stage.run(three, chain, limited({ maxSteps: 2 }));
    await stage.waits(jobId);
    await stage.expire(jobId);
    await stage.timers();
    expect(await stage.ended(jobId)).toMatchObject({ status: 'failed', error: { code: 'budget_exceeded' } });
  });

  it('counts tokens, and opens another request when the granted tokens are used too', async () => {
    const words = ['One.', 'Two.', 'Three.'];
    for (const word of words) stage.script(`Say ${word}`, textReply([word])); // 18 tokens each
    const nodes = Object.fromEntries(words.map((word, i) => [`n${i}`, agent(`Say ${word}`)]));
    const jobId = await stage.run(nodes, ['start -> n0', 'n0 -> n1', 'n1 -> n2'], limited({ maxTokens: 10 }));
    const [first] = await stage.waits(jobId);
    expect(first?.request).toMatchObject({ prompt: 'It has used 18 of 10 tokens. May it use 10 tokens more?' });
    await stage.answer(first, { action: 'approve' });
    const second = await eventually('it asks again', async () =>
      (await stage.waits(jobId)).find(({ id }) => id !== first?.id),
    );
    expect(await stage.statusesOf(jobId)).toEqual({ start: 'completed', n0: 'completed', n1: 'completed' });
    await stage.answer(second, { action: 'approve' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Three.' });
  });

  it('opens no request when the run is complete', async () => {
    stage.script('Say it.', textReply(['It.']));
    const jobId = await stage.run({ a: agent('Say it.') }, ['start -> a'], limited({ maxTokens: 1 }));
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'It.' });
    expect(await open(jobId)).toEqual([]);
  });

  it('counts working time, and starts no node after it', async () => {
    stage.script('Take your time.', textReply(['Done.'], { delayMs: 60 }));
    const nodes = { a: agent('Take your time.'), b: plus };
    const jobId = await stage.run(nodes, ['start -> a', 'a -> b'], limited({ maxDurationMs: 50 }));
    const asked = await stage.waitsAfter('Take your time.', jobId);
    expect(asked?.request).toMatchObject({ prompt: expect.stringMatching(/^It has used \d+ of \d+ ms of work\. /) });
    await stage.answer(asked, { action: 'reject' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'failed', error: { code: 'budget_exceeded' } });
    expect(await stage.statusesOf(jobId)).toEqual({ start: 'completed', a: 'completed' });
  });
});

describe('cancelled workflow job', () => {
  it('aborts its model calls and keeps its streamed text while it works', async () => {
    const gate = createGate();
    stage.script('Write a lot.', { body: [textChunk('So far'), gate], end: 'hang' });
    const jobId = await stage.run({ a: agent('Write a lot.') }, ['start -> a']);
    await eventually('something is shown', async () => {
      const [shown] = await stage.eventsOf(jobId, 'text-delta');
      return shown;
    });
    expect(await stage.stop(jobId)).toBe('aborted');
    const request = stage.requests('Write a lot.').at(-1);
    await request?.settled;
    expect(request?.aborted).toBe(true);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'cancelled', content: 'So far' });
    expect(await stage.statusesOf(jobId)).toEqual({ start: 'completed', a: 'cancelled' });
  });

  it('closes its requests while it waits', async () => {
    const nodes = { ok: { type: 'approval', prompt: 'Ok?' }, b: plus };
    const jobId = await stage.run(nodes, ['start -> ok', 'ok -> b']);
    const asked = (await stage.waitsAt(jobId)).get('ok');
    expect(await stage.stop(jobId)).toBe('aborted');
    expect(await stage.ended(jobId)).toMatchObject({ status: 'cancelled' });
    expect(await open(jobId)).toEqual([]);
    await expect(stage.answer(asked, { action: 'approve' })).rejects.toMatchObject({ code: 'already_answered' });
  });

  it('closes everything while one node waits and another works', async () => {
    stage.script('Never end.', { body: [], end: 'hang' });
    const nodes = { ok: { type: 'approval', prompt: 'Ok?' }, a: agent('Never end.') };
    const jobId = await stage.run(nodes, ['start -> ok', 'start -> a']);
    await stage.asks(jobId, 1);
    await eventually('the other one works', () => stage.requests('Never end.')[0]);
    expect(await stage.stop(jobId)).toBe('aborted');
    expect(await open(jobId)).toEqual([]);
    expect(await stage.statusesOf(jobId)).toEqual({ start: 'completed', ok: 'cancelled', a: 'cancelled' });
    expect((await stage.eventsOf(jobId)).at(-1)?.type).toBe('job-finished');
  });
});

const within = (maxDurationMs: number) => ({ meta: { execution: { stopPolicy: { maxDurationMs } } } });
const states = { start: 'completed', a: 'active' };

describe('time budget of a workflow with a working node', () => {
  let stage: WorkflowStage;

  beforeAll(async () => {
    stage = await openWorkflowStage({ WORKFLOW_PAUSE_MS: '100' });
  });
  afterEach(() => {
    stage.assertPlayed();
  });
  afterAll(async () => {
    await stage.close();
  });

  /** Lets it come to its end; on a slow machine it asks for still more. */
  const grantAll = async (jobId: string) => {
    const rest = () =>
      eventually('it waits or has ended', async () => {
        const [job] = await stage.rows<{ status: string }>('SELECT status FROM job WHERE id = $1', [jobId]);
        return ['queued', 'running'].includes(job?.status ?? '') ? undefined : job?.status;
      });
    while ((await rest()) === 'waiting') await stage.answer((await stage.waits(jobId))[0], { action: 'approve' });
  };

  it('opens a request although the node never ends', async () => {
    stage.script('Hang.', { body: [textChunk('So far')], end: 'hang' });
    const jobId = await stage.run({ a: agent('Hang.') }, ['start -> a'], within(500));
    const asked = await stage.waitsAfter('Hang.', jobId);
    expect(asked?.request).toMatchObject({ prompt: expect.stringMatching(/^It has used \d+ of \d+ ms of work\. /) });
    expect(await stage.statusesOf(jobId)).toEqual(states);
    const request = stage.requests('Hang.').at(-1);
    await request?.settled;
    expect(request?.aborted).toBe(true);
    await stage.answer(asked, { action: 'reject' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'failed', error: { code: 'budget_exceeded' } });
  });

  it('completes after more time is granted', async () => {
    stage.script('Hang once.', { body: [], end: 'hang' });
    const jobId = await stage.run({ a: agent('Hang once.') }, ['start -> a'], within(500));
    const asked = await stage.waitsAfter('Hang once.', jobId);
    stage.model.answer(({ body }) => (body.includes('Hang once.') ? textReply(['Done.']) : undefined));
    await stage.answer(asked, { action: 'approve' });
    await grantAll(jobId);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Done.' });
  });
});

describe('time budget of a workflow at the end of a round', () => {
  it('lets the round commit and starts no other', async () => {
    const call = toolCallReply([{ id: 'c1', name: 'look_up', arguments: '{"to":"Bob"}' }]);
    stage.script('Look.', { ...call, body: [{ delayMs: 500 }, ...call.body] });
    const jobId = await stage.run({ a: agent('Look.', { tools: ['look_up'] }) }, ['start -> a'], within(450));
    const asked = await stage.waitsAfter('Look.', jobId);
    expect(await stage.rows('SELECT status FROM tool_call WHERE job_id = $1', [jobId])).toEqual([
      { status: 'completed' },
    ]);
    expect(await stage.statusesOf(jobId)).toEqual(states);
    await stage.answer(asked, { action: 'reject' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'failed', error: { code: 'budget_exceeded' } });
  });
});

describe('costs of a workflow run', () => {
  let stage: SubJobStage;
  let names = 0;
  const fresh = (word: string) => `${word}-${(names += 1)}`;

  /** An answer has 11 and 7 tokens: 0.018 USD. */
  const MODEL_PRICES = '{"scripted":[1000,1000],"free/*":[0,0]}';

  beforeAll(async () => {
    stage = await openSubJobStage({ env: { MODEL_PRICES } });
  });
  afterEach(() => {
    stage.assertPlayed();
  });
  afterAll(async () => {
    await stage.close();
  });
  const replyText = (text: string) => textReply([text]);
  const chain = (...ids: readonly string[]) => ids.map((id, i) => `${ids[i - 1] ?? 'start'} -> ${id}`);
  const promptOf = async (jobId: string, number: number) => {
    const asked = await eventually('it asks', async () => {
      const { length } = await stage.rows(`SELECT 1 FROM interrupt WHERE job_id = $1 AND node_id = ''`, [jobId]);
      return length >= number ? (await stage.waits(jobId)).find(({ nodeId }) => nodeId === '') : undefined;
    });
    return { asked, prompt: asked.request['prompt'] };
  };

  it('add up by model prices, and open a request when they reach the granted amount', async () => {
    const [a, b, c] = [fresh('a'), fresh('b'), fresh('c')];
    for (const line of [a, b]) stage.script(line, replyText('Done.'));
    const nodes = { a: agent(a), b: agent(b), c: agent(c) };
    const jobId = await stage.run(nodes, chain('a', 'b', 'c'), limited({ maxCostUsd: 0.01 }));
    const first = await promptOf(jobId, 1);
    expect(first.prompt).toBe('It has used 0.018 of 0.01 USD. May it use 0.01 USD more?');
    await stage.answer(first.asked, { action: 'approve' });
    const second = await promptOf(jobId, 2);
    expect(second.prompt).toBe('It has used 0.036 of 0.028 USD. May it use 0.01 USD more?');
    await stage.answer(second.asked, { action: 'reject' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'failed', error: { code: 'budget_exceeded' } });
  });

  it('include the costs before the run was rebuilt from its rows', async () => {
    const [a, b] = [fresh('a'), fresh('b')];
    stage.script(a, replyText('Done.'));
    stage.script(b, replyText('Done.'));
    const nodes = { a: agent(a), ok: { type: 'approval', prompt: 'Ok?' }, b: agent(b), t: agent(fresh('never')) };
    const jobId = await stage.run(nodes, chain('a', 'ok', 'b', 't'), limited({ maxCostUsd: 0.03 }));
    await stage.answer((await stage.waitsAt(jobId)).get('ok'), { action: 'approve' });
    expect((await promptOf(jobId, 1)).prompt).toBe('It has used 0.036 of 0.03 USD. May it use 0.03 USD more?');
    await stage.stop(jobId);
  });

  it('stay zero for models with a price of zero', async () => {
    const [a, b] = [fresh('a'), fresh('b')];
    stage.script(a, replyText('Done.'));
    stage.script(b, replyText('Done.'));
    const nodes = { a: agent(a, { model: 'free/one' }), b: agent(b, { model: 'free/two' }) };
    const jobId = await stage.run(nodes, chain('a', 'b'), limited({ maxCostUsd: 0.000001 }));
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed' });
    expect(await stage.eventsOf(jobId, 'warning')).toEqual([]);
  });

  it('exclude a model without a price and warn viewers once', async () => {
    const [a, b] = [fresh('a'), fresh('b')];
    stage.script(a, replyText('Done.'));
    stage.script(b, replyText('Done.'));
    const nodes = { a: agent(a, { model: 'dear' }), b: agent(b, { model: 'dear' }) };
    const jobId = await stage.run(nodes, chain('a', 'b'), limited({ maxCostUsd: 0.000001 }));
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed' });
    expect((await stage.eventsOf(jobId, 'warning')).map(({ body }) => body)).toEqual([
      { code: 'COST_UNKNOWN', text: 'What "dear" costs is not known, so maxCostUsd does not count it.' },
    ]);
  });

  it.each([
    ['USD', { maxCostUsd: 0.05 }, 'It has used 0.054 of 0.05 USD. May it use 0.05 USD more?'],
    ['tokens', { maxTokens: 50 }, 'It has used 54 of 50 tokens. May it use 50 tokens more?'],
  ])('include the %s of sub-jobs', async (_, policy, prompt) => {
    const [name, above, below] = [fresh('below'), fresh('above'), fresh('line')];
    await stage.offer(name, { a: agent(below) }, ['start -> a']);
    const call = { id: `call_${name}`, name: `workflow.${name}`, arguments: '{"input":"Hello"}' };
    stage.script(above, toolCallReply([call]), replyText('Done.'));
    stage.script(below, replyText('Done below.'));
    const nodes = { a: agent(above, { tools: [`workflow.${name}`] }), t: agent(fresh('never')) };
    const jobId = await stage.run(nodes, chain('a', 't'), limited(policy));
    expect((await promptOf(jobId, 1)).prompt).toBe(prompt);
    await stage.stop(jobId);
  });
});
