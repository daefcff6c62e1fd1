import { describe, expect, it } from '@jest/globals';

import type { NodeRunRow } from '../engine/node-run.js';
import { unusualOf } from './node-run-columns.js';

const plain: NodeRunRow = {
  ...{ ordinal: 1, nodeId: 'a', path: [], iteration: [], type: 'agent', label: 'A', status: 'completed' },
  ...{ input: '', output: 'x', handles: ['output'], handOn: 'output', extra: {}, error: null },
};

describe('the stored columns of a node run', () => {
  it('omit default values', () => {
    expect(unusualOf(plain, 3)).toEqual({ path: null, iteration: null, handles: null });
  });

  it.each<[string, Partial<NodeRunRow>]>([
    ['another handle', { handles: ['merged'] }],
    ['no handle', { handles: [] }],
    ['more handles', { handles: ['output', 'error'] }],
    ['the plain handle of a node that failed', { status: 'error', handles: ['output'] }],
    ['its place in a pass', { path: ['loop'], iteration: [2], handles: ['no'] }],
  ])('include %s', (_what, change) => {
    const { path, iteration, handles } = { ...plain, ...change };
    expect(unusualOf({ ...plain, ...change }, 3)).toEqual({
      path: path.length === 0 ? null : path,
      iteration: iteration.length === 0 ? null : iteration,
      handles,
    });
  });

  it('contain every field in a job that an older worker may continue', () => {
    expect(unusualOf(plain, 2)).toEqual({ path: [], iteration: [], handles: ['output'] });
  });
});
