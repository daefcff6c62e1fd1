import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { openWorkflowStage, type WorkflowStage } from '../harness/workflow-stage.js';

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

const open = (jobId: string) => stage.rows(`SELECT kind FROM interrupt WHERE job_id = $1 AND status = 'open'`, [jobId]);

describe('texts of workflow nodes', () => {
  it('store characters that Postgres cannot store in replaced form', async () => {
    const jobId = await stage.run({ a: { type: 'transform', expression: 'input.a' } }, ['start -> a'], {
      prompt: '{"a":"x\\u0000y\\ud800z"}',
    });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'x\ufffdy\ufffdz' });
  });

  it('fail over the size limit', async () => {
    const twice = { type: 'transform', expression: 'text + text' };
    const nodes = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`n${i}`, twice]));
    const edges = ['start -> n0', ...Array.from({ length: 29 }, (_, i) => `n${i} -> n${i + 1}`)];
    const jobId = await stage.run(nodes, edges, { prompt: 'x'.repeat(1_000) });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'failed' });
    const [longest] = await stage.rows(
      'SELECT max(length(input) + length(output)) < 17000000 AS ok FROM node_run WHERE job_id = $1',
      [jobId],
    );
    expect(longest).toEqual({ ok: true });
  });

  it('fail over the size limit when nodes only pass them on', async () => {
    const pause = { type: 'wait', durationMs: 0 };
    const nodes = Object.fromEntries(Array.from({ length: 45 }, (_, i) => [`n${i}`, pause]));
    const edges = Array.from({ length: 15 }, (_, i) => {
      const [from, a, b, to] = [i === 0 ? 'start' : `n${i * 3 - 1}`, `n${i * 3}`, `n${i * 3 + 1}`, `n${i * 3 + 2}`];
      return [`${from} -> ${a}`, `${from} -> ${b}`, `${a} -> ${to}`, `${b} -> ${to}`];
    }).flat();
    const jobId = await stage.run(nodes, edges, { prompt: 'x'.repeat(12_000) });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'failed', error: { code: 'OUTPUT_LIMIT' } });
    expect(await open(jobId)).toEqual([]);
  });
});
