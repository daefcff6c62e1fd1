import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { eventually } from '../harness/eventually.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';
import { openSubJobStage, type SubJobStage } from '../harness/sub-jobs.js';
import { agent } from '../harness/workflow-stage.js';

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

const limited = (stopPolicy: object) => ({ meta: { execution: { stopPolicy } } });
const replyText = (text: string) => textReply([text]);
const chain = (...ids: readonly string[]) => ids.map((id, i) => `${ids[i - 1] ?? 'start'} -> ${id}`);
const promptOf = async (jobId: string, number: number) => {
  const asked = await eventually('it asks', async () => {
    const { length } = await stage.rows(`SELECT 1 FROM interrupt WHERE job_id = $1 AND node_id = ''`, [jobId]);
    return length >= number ? (await stage.waits(jobId)).find(({ nodeId }) => nodeId === '') : undefined;
  });
  return { asked, prompt: asked.request['prompt'] };
};

describe('costs of a workflow run', () => {
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
