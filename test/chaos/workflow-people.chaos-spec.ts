import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { announceDue } from '../harness/announce-due.js';
import { Decider } from './decider.js';
import { askedWithLosses, type Ends, leftWithLoss, type Losses, LostStories } from './lost-stories.js';
import { agent, NodeScripts, say } from './node-scripts.js';
import { Stage } from './stage.js';
import type { Viewer } from './viewer.js';
import { askedAt, hasEnded, output } from './workflow-stories.js';

describe('workflow requests to people with a killed worker', () => {
  let stage: Stage;
  let decider: Decider;
  let stories: LostStories;
  let calm: Ends;
  let lost: Ends;

  /** Through an api, a process that neither opened the request nor continues the job. */
  const answer = async (viewer: Viewer, nodeId: string, answered: object) => {
    expect(await decider.decide(await askedAt(stage, viewer, nodeId), answered)).toMatchObject({ status: 200 });
  };
  const answers: Readonly<Record<string, object>> = {
    boss: { action: 'approve', data: 'The boss agrees.' },
    clerk: { action: 'submit', data: { size: 42 } },
  };
  /** One after the other. */
  const inTurn =
    (...nodeIds: readonly string[]) =>
    async (viewer: Viewer) => {
      for (const nodeId of nodeIds) await answer(viewer, nodeId, answers[nodeId] ?? {});
    };
  const timeIsOver = async ({ jobId }: Viewer) => {
    await stage.waits(jobId);
    await stage.database.postgres.workerPool.query(
      `UPDATE interrupt SET expires_at = clock_timestamp() - interval '1 s' WHERE job_id = $1`,
      [jobId],
    );
    await announceDue(stage.database);
  };
  const schema = { type: 'object', required: ['size'], properties: { size: { type: 'number' } } };
  const boss = { type: 'approval', prompt: 'May it?' };
  const clerk = { type: 'input', prompt: 'Which size?', schema };
  const two = {
    nodes: { boss, clerk, out: { ...output, sources: ['boss', 'clerk'] } },
    edges: ['start -> boss', 'start -> clerk', 'boss -> out', 'clerk -> out'],
  };
  const three = {
    nodes: { ...two.nodes, a: agent('beside people') },
    edges: [...two.edges, 'start -> a', 'a -> out'],
  };
  const reviewed = (prompt: string) => ({
    nodes: { a: agent(prompt, { hitl: { enabled: true, mode: 'review' } }), out: { ...output, sources: ['a'] } },
    edges: ['start -> a', 'a -> out'],
  });
  const waits = (nodes: number) => (viewer: Viewer) => stage.waits(viewer.jobId, nodes);
  const one = (node: { readonly type: string; readonly [member: string]: unknown }) => ({
    nodes: {
      a: node,
      out: { ...output, template: 'Then: {{input}}' },
      late: { ...output, template: 'Late: {{input}}' },
    },
    edges: ['start -> a', 'a.output -> out', 'a.timeout -> late'],
    before: waits(1),
  });

  /** The workflows whose worker is killed, by the point of the kill. */
  const losses: Losses = {
    'a wait for two, one of whom answers first': { ...two, before: waits(2), people: inTurn('boss', 'clerk') },
    'a wait for two, the other of whom answers first': { ...two, before: waits(2), people: inTurn('clerk', 'boss') },
    'a wait for two, of whom one had answered': {
      ...two,
      before: async (viewer) => {
        await answer(viewer, 'boss', answers['boss'] ?? {});
        await hasEnded(viewer, 'boss');
        await stage.waits(viewer.jobId);
      },
      people: async (viewer) => {
        const isAnswered = viewer.events.some(({ type }) => type === 'interrupt-resolved');
        await inTurn(...(isAnswered ? ['clerk'] : ['boss', 'clerk']))(viewer);
      },
    },
    'an answer of an agent beside two people': {
      ...three,
      unheard: ['beside people 1'],
      before: async (viewer) => Promise.all([askedAt(stage, viewer, 'boss'), askedAt(stage, viewer, 'clerk')]),
      people: inTurn('clerk', 'boss'),
    },
    'a review of the output of an agent': {
      ...reviewed('write'),
      before: waits(1),
      people: (viewer) => answer(viewer, 'a', { action: 'approve' }),
    },
    'a second review': {
      ...reviewed('write again'),
      before: async (viewer) => {
        await answer(viewer, 'a', { action: 'reject' });
        await viewer.saw('interrupt-opened', 2);
        await stage.waits(viewer.jobId);
      },
      people: async (viewer) => {
        if (viewer.events.every(({ type }) => type !== 'interrupt-resolved')) {
          await answer(viewer, 'a', { action: 'reject' });
          await viewer.saw('interrupt-opened', 2);
        }
        await answer(viewer, 'a', { action: 'modify', data: 'Better so.' });
      },
    },
    'a wait for a permission to call a tool': {
      ...one({ type: 'tool', toolId: 'send_letter', config: { to: 'ada' } }),
      edges: ['start -> a', 'a -> out', 'start -> late'],
      people: async (viewer) => {
        expect(await decider.approve(await askedAt(stage, viewer, 'a'))).toMatchObject({ status: 200 });
      },
    },
    'a wait for an event': {
      ...one({ type: 'wait', event: 'parcel' }),
      people: (viewer) => answer(viewer, 'a', { action: 'submit', data: 'It is here.' }),
    },
    'a wait for an event that never comes': {
      ...one({ type: 'wait', event: 'parcel', timeout: 3_600_000 }),
      people: timeIsOver,
    },
    'a wait for a time': {
      ...one({ type: 'wait', durationMs: 3_600_000 }),
      edges: ['start -> a', 'a -> out', 'start -> late'],
      people: timeIsOver,
    },
    'a wait for a person who never answers': {
      ...one({ ...boss, timeout: 3_600_000 }),
      people: timeIsOver,
    },
  };

  beforeAll(async () => {
    stage = await Stage.open();
    await stage.policy({ rules: [{ match: 'send_letter', action: 'require_approval' }] });
    const scripts = new NodeScripts(stage.model);
    for (const line of ['beside people', 'write', 'write again']) scripts.script(line, say('This is ', `${line}.`));
    decider = new Decider(await stage.startApi(), await stage.createKey(['read', 'write', 'approve']));
    stories = new LostStories(stage, scripts, losses);
  });
  // Each waits as long as a single test.
  beforeAll(async () => {
    calm = await stories.runCalm();
  });
  beforeAll(async () => {
    lost = await stories.runLost();
  });

  afterAll(async () => {
    await stage.close();
  });

  it.each(Object.entries(losses))('end with the same outcome as without a kill: %s', (name, loss) => {
    expect(lost.left[name]?.status).toBe('completed');
    expect(lost.left[name]).toEqual(leftWithLoss(loss, calm.left[name]));
  });

  it('repeat only model requests without a committed response', () => {
    expect(lost.asked).toEqual(askedWithLosses(losses, calm));
  });

  it('repeat no tool call', () => {
    const keys = stage.ledger.calls.map(({ key }) => key);
    expect(new Set(keys).size).toBe(keys.length);
    expect(keys).toHaveLength(2);
  });

  it('deliver the events 1 to N to every viewer, and open and settle each request once', async () => {
    expect(await stage.problems()).toEqual([]);
  });
});
