import { describe, expect, it } from '@jest/globals';

import type { JobRun, RunWrite } from '#jobs';

import { NodeView } from './node-view.js';

const counts = { promptTokens: 3, completionTokens: 4 };
const place = { nodeRun: 1, nodeId: 'n', branch: null };

/** A view of a run that refuses what starts something once a cancel came, and what is counted of it. */
function scene() {
  const counted: number[][] = [];
  let isCancelled = false;
  const run = {
    signal: new AbortController().signal,
    append: () => undefined,
    commit: () => Promise.resolve(),
    commitUnlessCancelled: () => (isCancelled ? Promise.reject(new Error('refused')) : Promise.resolve()),
  };
  const tally = {
    addUsage: (...usage: number[]) => counted.push(usage),
    spend: () => undefined,
    addContent: () => undefined,
    addReasoning: () => undefined,
    loseContent: () => undefined,
  };
  // The view writes to the run, and reads no more of it than this here; nor of its place.
  const view = new NodeView(run as unknown as JobRun, place as NodeView['node'], run.signal, {
    isShown: true,
    isContent: true,
    tally,
  });
  return {
    view,
    counted,
    cancel: () => {
      isCancelled = true;
    },
  };
}

describe('the tokens of a node', () => {
  const write: RunWrite = { counts };
  const once = [[1, 3, 4]];

  it.each<[string, (view: NodeView) => unknown]>([
    [
      'goes along with the next commit',
      (view) => {
        view.append(write);
      },
    ],
    ['is committed', (view) => view.commit(write)],
    ['is committed with what it starts', (view) => view.commitUnlessCancelled(write)],
  ])('count once for a round that %s', async (_how, send) => {
    const { view, counted } = scene();
    await send(view);
    expect(counted).toEqual(once);
  });

  it('count once for a round that a cancel refused, and that then commits as cancelled', async () => {
    const { view, counted, cancel } = scene();
    cancel();
    await expect(view.commitUnlessCancelled(write)).rejects.toThrow('refused');
    expect(counted).toEqual([]);
    await view.commit(write);
    expect(counted).toEqual(once);
  });
});
