import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { eventually } from '../harness/eventually.js';
import { type HttpTarget, startHttpTarget } from '../harness/http-target.js';
import { problemsOf } from './checkers.js';
import { agent, call, NodeScripts, say } from './node-scripts.js';
import { Stage } from './stage.js';
import { type Left, leftBy, leftOf, output, publishStory, runStory, start, type Story } from './workflow-stories.js';

const privateHosts = { ALLOW_PRIVATE_TOOL_URLS: 'true' };

/** Where workers die, and at which passing while they run four such jobs: each is cut somewhere else. */
const deaths = {
  'after-commit': [9, 31],
  'after-node-start': [25],
  'before-node-end': [17, 45],
  'after-node-end': [30, 60],
  'before-node-request': [1],
  'after-node-request': [2],
  'after-response': [17],
  'after-round-commit': [20],
  'tool-in-flight': [4],
  'before-tool-commit': [3],
  'before-final-output': [2],
  'before-finish': [1],
} as const;
const victims = Object.entries(deaths).flatMap(([point, passings]) => passings.map((n) => `${point}:kill:${n}`));
const startedAtOnce = 4;

/** A bit of everything. */
const toStory = (url: string): Story => ({
  nodes: {
    writer: agent('write', { tools: ['charge'] }),
    p: {
      ...{ type: 'parallel', model: 'scripted', prompt: 'merge' },
      branches: ['one', 'two'].map((id) => ({ id, label: id, prompt: `branch ${id}` })),
    },
    loop: { type: 'whileLoop', loopMode: 'fixed', maxIterations: 2, includePreviousOutputs: false },
    step: { type: 'transform', expression: 'input + "+"' },
    sub: { type: 'subflow', subflowId: 'child', inputMappings: { input: '{{input}}' } },
    map: { type: 'map', items: '["x","y"]' },
    item: { type: 'transform', expression: 'input + "!"' },
    keep: { type: 'memory', operation: 'store', text: 'Noted: {{input}}' },
    pay: { type: 'tool', toolId: 'charge', config: { to: 'bob' } },
    post: { type: 'http', method: 'POST', url, body: { to: '{{input}}' }, select: '$.path' },
    route: { type: 'router', model: 'scripted', prompt: 'choose' },
    out: {
      ...output,
      mode: 'synthesis',
      sources: ['writer', 'p', 'sub', 'map'],
      synthesis: { prompt: 'sum up', model: 'scripted' },
    },
    other: output,
  },
  edges: [
    ...['start -> writer', 'start -> p', 'writer -> loop', 'p.merged -> loop', 'loop.body -> step', 'loop.done -> sub'],
    ...['sub -> map', 'map.body -> item', 'map.done -> keep', 'keep -> pay', 'pay -> post', 'post -> route'],
    ...['route.here -> out', 'route.there -> other'],
  ],
});

describe('workflows whose worker dies at a crash point', () => {
  let stage: Stage;
  let target: HttpTarget;
  let calm: Left;
  /** By the death of their worker. */
  const jobs = new Map<string, readonly string[]>();

  beforeAll(async () => {
    stage = await Stage.open(undefined, privateHosts);
    target = await startHttpTarget(({ path }, response) => response.end(JSON.stringify({ path })));
    const scripts = new NodeScripts(stage.model);
    scripts.script('write', call('charge', { to: 'ada' }), say('Written.'));
    for (const line of ['branch one', 'branch two', 'merge', 'child', 'sum up'])
      scripts.script(line, say('This is ', `${line}.`));
    scripts.script('choose', call('select_route', { route_id: 'here', reasoning: 'It is.' }));
    await publishStory(stage, { nodes: { a: agent('child') }, edges: ['start -> a'], id: 'child' });
    const story = toStory(`${target.url}/post`);
    for (let first = 0; first < victims.length; first += startedAtOnce)
      await loseAll(victims.slice(first, first + startedAtOnce), story);
    await stage.database.postgres.workerPool.query(
      `UPDATE job SET lease_until = clock_timestamp() - interval '1 s' WHERE status = 'running'`,
    );
    await stage.startWorker(privateHosts);
    calm = await leftOf(stage, await runStory(stage, story));
    await Promise.all([...jobs.values()].flat().map((jobId) => stage.watch(jobId).ended));
  });

  afterAll(async () => {
    await stage.close();
    await target.close();
  });

  /**
   * One after the other, the others frozen. No worker takes over the jobs of another, because the test decides when the leases expire. For that
   * the dead count as processes of other machines, whose end cannot be proven.
   */
  const loseAll = async (points: readonly string[], story: Story) => {
    const env = { ...privateHosts, LEASE_MS: '600000' };
    const workers = await Promise.all(
      points.map(async (point) => {
        const worker = await stage.startWorker({ ...env, CRASH_POINT: point });
        worker.kill('SIGSTOP');
        return { point, worker };
      }),
    );
    for (const { point, worker } of workers) {
      worker.kill('SIGCONT');
      const started = await Promise.all([1, 2, 3, 4].map(() => start(stage, story)));
      jobs.set(point, started);
      const { signal } = await Promise.race([worker.exited, survived(point, started)]);
      expect(signal).toBe('SIGKILL');
      await stage.database.postgres.workerPool.query(
        `UPDATE job SET lease_owner = 'elsewhere' WHERE status = 'running'`,
      );
    }
  };
  const survived = async (point: string, started: readonly string[]): Promise<never> => {
    await eventually('all have ended', async () => {
      const seen = await Promise.all(started.map((jobId) => stage.snapshot(jobId)));
      return seen.every(({ ended }) => ended) ? true : undefined;
    });
    throw new Error(`${point} was not reached`);
  };

  it.each(victims)('end with the same outcome as without a kill: %s', async (point) => {
    const started = jobs.get(point) ?? [];
    expect(started).toHaveLength(4);
    for (const jobId of started) expect(await leftBy(stage, jobId)).toEqual(calm);
  });

  it('repeat no side effect and deliver all events to every viewer', async () => {
    expect(await problemsOf(stage.database, stage)).toEqual([]);
  });
});
