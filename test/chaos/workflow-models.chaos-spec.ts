import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { askedWithLosses, type Ends, leftWithLoss, type Losses, LostStories } from './lost-stories.js';
import { agent, call, NodeScripts, say } from './node-scripts.js';
import { Stage } from './stage.js';
import { hasEnded, output } from './workflow-stories.js';

/** The workflows whose worker is killed, by the point of the kill. */
const losses: Losses = {
  'an answer of an agent': {
    nodes: { a: agent('stream') },
    edges: ['start -> a'],
    unheard: ['stream 1'],
    before: (viewer) => viewer.saw('text-delta'),
  },
  'the second round of an agent': {
    nodes: { a: agent('pay', { tools: ['charge'] }), out: { ...output, template: 'Paid: {{input}}' } },
    edges: ['start -> a', 'a -> out'],
    unheard: ['pay 2'],
  },
  'a call of an agent that may run once': {
    nodes: { a: agent('note', { tools: ['post_note'] }), out: { ...output, template: 'Noted: {{input}}' } },
    edges: ['start -> a', 'a -> out'],
    calls: 1,
    // The outcome is unknown, and the model reads that.
    but: (left) => ({ ...left, calls: [{ name: 'post_note', node: 'a', status: 'interrupted', result: null }] }),
  },
  'a choice of a router': {
    nodes: { r: { type: 'router', model: 'scripted', prompt: 'choose' }, left: output, right: output },
    edges: ['start -> r', 'r.left -> left', 'r.right -> right'],
    unheard: ['choose 1'],
  },
  'two of four branches': {
    nodes: {
      p: {
        ...{ type: 'parallel', model: 'scripted', prompt: 'merge them' },
        branches: ['one', 'two', 'three', 'four'].map((id) => ({ id, label: id, prompt: `branch ${id}` })),
      },
      out: { ...output, sources: ['p:one', 'p:two', 'p:three', 'p:four', 'p'] },
    },
    edges: ['start -> p', 'p.merged -> out'],
    unheard: ['branch two 1', 'branch three 1'],
    before: (viewer) => viewer.saw('branch-finished', 2),
  },
  'a merge of branches': {
    nodes: {
      p: {
        ...{ type: 'parallel', model: 'scripted', prompt: 'merge both' },
        branches: ['five', 'six'].map((id) => ({ id, label: id, prompt: `branch ${id}` })),
      },
      out: output,
    },
    edges: ['start -> p', 'p.merged -> out'],
    unheard: ['merge both 1'],
  },
  'a synthesis': {
    nodes: {
      a: agent('first source'),
      b: agent('second source'),
      out: {
        ...output,
        mode: 'synthesis',
        sources: ['a', 'b'],
        synthesis: { prompt: 'synthesize', model: 'scripted' },
      },
    },
    edges: ['start -> a', 'start -> b', 'a -> out', 'b -> out'],
    unheard: ['synthesize 1'],
    before: (viewer) => hasEnded(viewer, 'a', 'b'),
  },
  'one of two agents that run at once': {
    nodes: { a: agent('quick'), b: agent('slow'), out: output },
    edges: ['start -> a', 'start -> b', 'a -> out', 'b -> out'],
    unheard: ['slow 1'],
    before: (viewer) => hasEnded(viewer, 'a'),
  },
};

describe('workflow model calls with a killed worker', () => {
  let stage: Stage;
  let calm: Ends;
  let lost: Ends;

  beforeAll(async () => {
    stage = await Stage.open();
    const scripts = new NodeScripts(stage.model);
    scripts.script('stream', say('Half of it, ', 'and the rest.'));
    scripts.script('pay', call('charge', { to: 'ada' }), say('It is paid.'));
    scripts.script('note', call('post_note', { to: 'ada' }), say('It is noted.'));
    scripts.script('choose', call('select_route', { route_id: 'right', reasoning: 'It is.' }));
    for (const id of ['one', 'two', 'three', 'four', 'five', 'six']) scripts.script(`branch ${id}`, say(`The ${id}.`));
    for (const line of ['merge them', 'merge both', 'synthesize', 'first source', 'second source', 'quick', 'slow'])
      scripts.script(line, say('This is ', `${line}.`));
    ({ calm, lost } = await new LostStories(stage, scripts, losses).run());
  });

  afterAll(async () => {
    await stage.close();
  });

  it.each(Object.entries(losses))('end with the same outcome as without a kill: %s', (name, loss) => {
    expect(lost.left[name]).toEqual(leftWithLoss(loss, calm.left[name]));
  });

  it('repeat only model requests without a committed response', () => {
    expect(lost.asked).toEqual(askedWithLosses(losses, calm));
  });

  it('repeat no tool call', () => {
    const callsOf = (name: string) =>
      stage.ledger.calls.filter(({ key }) => key.startsWith(lost.viewers[name]?.jobId ?? '')).map(({ tool }) => tool);
    expect(callsOf('the second round of an agent')).toEqual(['charge']);
    expect(callsOf('a call of an agent that may run once')).toEqual(['post_note']);
  });

  it('deliver the events 1 to N to every viewer', async () => {
    expect(await stage.problems()).toEqual([]);
  });
});
