import { describe, expect, it } from '@jest/globals';

import { mapItems } from './map-items.js';

const context = (input: string): Parameters<typeof mapItems>[1] => ({
  input,
  view: {
    workflowName: 'flow',
    sessionId: 's',
    earlier: [],
    outputs: new Map([['a', '["x","y"]']]),
    inputs: new Map<string, unknown>([['list', [1, 'two', { three: 3 }]]]),
    session: [],
    attachments: [],
  },
});

describe('the items of a map', () => {
  it.each([
    ['the input', undefined, '[1,"two",null]', ['1', 'two', 'null']],
    ['a template', '{{a}}', '', ['x', 'y']],
    ['a template of a value', '{{inputs.list}}', '', ['1', 'two', '{"three":3}']],
    ['an expression', 'input.all.filter(i, i.n > 1)', '{"all":[{"n":1},{"n":2}]}', ['{"n":2}']],
    ['nothing', undefined, '[]', []],
  ])('come from %s', (...[, items, input, expected]) => {
    expect(mapItems(items, context(input))).toEqual(expected);
  });

  it.each([
    [undefined, 'no list'],
    [undefined, '{"a":1}'],
    ['{{input}}', '5'],
    ['1 + 1', ''],
    ['input.', ''],
  ])('cannot come from %j with the input %j', (items, input) => {
    expect(() => mapItems(items, context(input))).toThrow(/^Invalid (items|expression)/);
  });
});
