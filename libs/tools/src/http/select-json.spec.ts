import { describe, expect, it } from '@jest/globals';

import { parseJsonPath } from './parse-json-path.js';
import { selectJson } from './select-json.js';

function select(path: string, value: unknown): unknown {
  const read = parseJsonPath(path);
  if (typeof read === 'string') throw new Error(read);
  return selectJson(read, value);
}

const store = {
  items: [
    { id: 1, name: 'a', tags: ['x'] },
    { id: 2, name: 'b' },
    { id: 3, name: 'c' },
  ],
  "it's": { 'a b': [10, 20] },
  '"': 7,
  'a\\b': 8,
  none: null,
  käse: true,
};

describe('selectJson', () => {
  it.each<[string, unknown]>([
    ['$', store],
    ['$.items[0].name', 'a'],
    ['$.items[-1].id', 3],
    ['$.items[3]', undefined],
    ['$.items[-4]', undefined],
    ['$.none', null],
    ['$.nothing.at.all', undefined],
    ['$.käse', true],
    [`$['it\\'s']["a b"][1]`, 20],
    [`$["it's"]`, { 'a b': [10, 20] }],
    [`$['"']`, 7],
    ['$["\\""]', 7],
    [`$['a\\\\b']`, 8],
    ['$["\\u0061\\\\b"]', 8],
  ])('%s finds one value: %j', (path, value) => {
    expect(select(path, store)).toEqual(value);
  });

  it.each<[string, unknown]>([
    ['$.items[*].name', ['a', 'b', 'c']],
    ['$.items.*.id', [1, 2, 3]],
    ['$..id', [1, 2, 3]],
    ['$..tags[0]', ['x']],
    ['$..[0]', [store.items[0], 'x', 10]],
    ['$.items[0, 2].id', [1, 3]],
    ['$.items[0]["id", "name"]', [1, 'a']],
    ['$.items[1:].id', [2, 3]],
    ['$.items[:1].id', [1]],
    ['$.items[-2:].id', [2, 3]],
    ['$.items[::2].id', [1, 3]],
    ['$.items[::-1].id', [3, 2, 1]],
    ['$.items[2:0:-1].id', [3, 2]],
    ['$.items[5:9].id', []],
    ['$.items[::0].id', []],
    ['$.nothing[*]', []],
  ])('%s finds a list: %j', (path, values) => {
    expect(select(path, store)).toEqual(values);
  });

  it('sees own members only', () => {
    for (const path of ['$.constructor', '$.__proto__', '$.items.length', '$.items.map', '$.items[0].toString']) {
      expect(select(path, store)).toBeUndefined();
    }
    expect(select('$.__proto__', JSON.parse('{"__proto__": 1}'))).toBe(1);
  });

  it('searches neither without end nor without bottom', () => {
    const wide: unknown = Array.from({ length: 500 }, () => Array.from({ length: 500 }, () => 1));
    expect(select('$..*', wide)).toHaveLength(50_000); // each is looked at as a find and as a child
    expect(select('$[*][*]', wide)).toHaveLength(99_500);
    const deep: unknown = JSON.parse(`${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`);
    expect(select('$..a', deep)).toHaveLength(257);
  });

  it.each([
    '',
    'items',
    '$items',
    '$.',
    '$..',
    '$[',
    '$[]',
    '$[0',
    "$['a]",
    '$[?(@.a)]',
    '$[(1)]',
    '$.a b',
    '$[a]',
    '$.a[0,]',
    '$...a',
    '$["\\x"]',
    `$${'.a'.repeat(300)}`,
  ])('cannot read %j', (path) => {
    expect(typeof parseJsonPath(path)).toBe('string');
  });
});
