import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { askedWithLosses, type Ends, leftWithLoss, type Losses, LostStories } from './lost-stories.js';
import { agent, call, NodeScripts, say } from './node-scripts.js';
import { Stage } from './stage.js';
import { hasEnded, output, publishStory } from './workflow-stories.js';

/** A loop whose condition a model evaluates before each of its two iterations. */
const loop = (conditionPrompt: string) => ({
  ...{ type: 'whileLoop', conditionPrompt, conditionModel: 'scripted', maxIterations: 2, onMaxIterations: 'continue' },
  outputMode: 'accumulate',
});
const ways = ['start -> loop', 'loop.body -> a', 'a -> b', 'loop.done -> out'];
const from = (source: string) => ({ ...output, sources: [source] });

/** The workflows whose worker is killed, by the point of the kill. */
const losses: Losses = {
  'a loop between two passes': {
    nodes: { loop: loop('again?'), a: agent('between a'), b: agent('between b'), out: from('loop') },
    edges: ways,
    unheard: ['again? 1#2'],
    before: (viewer) => hasEnded(viewer, 'a@1', 'b@1'),
  },
  'the body of a loop': {
    nodes: {
      loop: loop('more?'),
      a: agent('within a'),
      b: agent('within b', { tools: ['charge'] }),
      out: from('loop'),
    },
    edges: ways,
    unheard: ['within b 2#2'],
    before: (viewer) => hasEnded(viewer, 'a@1', 'b@1', 'a@2'),
  },
  'a loop inside of a loop': {
    nodes: {
      outer: { type: 'whileLoop', loopMode: 'fixed', maxIterations: 2 },
      inner: { type: 'whileLoop', loopMode: 'fixed', maxIterations: 2, includePreviousOutputs: false },
      a: agent('deep'),
      out: from('outer'),
    },
    edges: ['start -> outer', 'outer.body -> inner', 'inner.body -> a', 'outer.done -> out'],
    unheard: ['deep 1#3'],
  },
  'a subflow': {
    nodes: { sub: { type: 'subflow', subflowId: 'child', inputMappings: { input: '{{input}}' } }, out: from('sub') },
    edges: ['start -> sub', 'sub -> out'],
    unheard: ['child b 1'],
    before: (viewer) => hasEnded(viewer, 'sf:sub|a'),
  },
  'a map with two of four items finished': {
    nodes: { map: { type: 'map', items: '["w","x","y","z"]' }, a: agent('item'), out: from('map') },
    edges: ['start -> map', 'map.body -> a', 'map.done -> out'],
    unheard: ['item 1#2', 'item 1#3'],
    before: (viewer) => viewer.saw('node-finished', 3),
  },
};

describe('workflow containers with a killed worker', () => {
  let stage: Stage;
  let calm: Ends;
  let lost: Ends;

  beforeAll(async () => {
    stage = await Stage.open();
    const scripts = new NodeScripts(stage.model);
    for (const line of ['again?', 'more?']) scripts.script(line, say('continue'));
    scripts.script('within b', call('charge', { to: 'ada' }), say('Paid.'));
    for (const line of ['between a', 'between b', 'within a', 'deep', 'child a', 'child b', 'item'])
      scripts.script(line, say('This is ', `${line}.`));
    const child = { a: agent('child a'), b: agent('child b'), end: output };
    await publishStory(stage, { nodes: child, edges: ['start -> a', 'a -> b', 'b -> end'], id: 'child' });
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
    const keys = stage.ledger.calls.map(({ key }) => key);
    expect(new Set(keys).size).toBe(keys.length);
  });

  it('deliver the events 1 to N to every viewer', async () => {
    expect(await stage.problems()).toEqual([]);
  });
});
