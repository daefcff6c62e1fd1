import { describe, expect, it } from '@jest/globals';

import { parseJsonPath } from './parse-json-path.js';
import { type Selection, selectJson } from './select-json.js';

function search(path: string, value: unknown): Selection {
  const read = parseJsonPath(path);
  if (typeof read === 'string') throw new Error(read);
  return selectJson(read, value);
}

function select(path: string, value: unknown): unknown {
  const { found, isSingular } = search(path, value);
  return isSingular ? found[0] : found;
}

/** A value that counts how often anything in it is looked at. */
function counted(value: object): { readonly value: unknown; looks: number } {
  const count = { value: {} as unknown, looks: 0 };
  const get = (target: object, key: string | symbol): unknown => {
    count.looks++;
    return Reflect.get(target, key);
  };
  count.value = new Proxy(value, { get });
  return count;
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

  it('ignores inherited members', () => {
    for (const path of ['$.constructor', '$.__proto__', '$.items.length', '$.items.map', '$.items[0].toString']) {
      expect(select(path, store)).toBeUndefined();
    }
    expect(select('$.__proto__', JSON.parse('{"__proto__": 1}'))).toBe(1);
  });

  it('limits the steps and the depth of a search, and reports it', () => {
    const wide: unknown = Array.from({ length: 500 }, () => Array.from({ length: 500 }, () => 1));
    expect(search('$..*', wide).found.length).toBeLessThan(100_000); // what is found is looked at as a child, too
    expect(search('$[*][*]', wide)).toMatchObject({ found: { length: 99_500 }, isCut: true });
    expect(search('$[*][0]', wide)).toMatchObject({ found: { length: 500 }, isCut: false });
    const deep: unknown = JSON.parse(`${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`);
    expect(search('$..a', deep)).toMatchObject({ found: { length: 257 }, isCut: true });
  });

  it('stops at 100,000 visited values', () => {
    const list = counted(Array.from({ length: 1_000_000 }, (_, n) => n));
    expect(search('$[*]', list.value).found).toHaveLength(100_000);
    expect(list.looks).toBeLessThan(200_100); // the element and, by the iterator, the length
    expect(search('$[*,*,::2,::-1,0:999999]', list.value).found).toHaveLength(100_000);
    expect(list.looks).toBeLessThan(400_200);
  });

  it('returns each match once when steps and selectors overlap', () => {
    expect(select('$[0, 0, -1, *, ::-1]', ['a', 'b'])).toEqual(['a', 'b']);
    expect(select('$["a", "a", *]', { a: 1, b: 1 })).toEqual([1, 1]);
    const tree = { a: { b: { c: { d: { e: 1 } } } } };
    expect(select('$..*', tree)).toHaveLength(5);
    expect(select(`$${'..*'.repeat(3)}`, tree)).toHaveLength(3);
    let wood: unknown = 1;
    for (let n = 0; n < 200; n++) wood = [wood];
    expect(search(`$${'..*'.repeat(20)}`, wood)).toMatchObject({ found: { length: 181 }, isCut: false });
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
    `$${'.a'.repeat(21)}`,
    `$[${'*,'.repeat(20)}0]`,
  ])('rejects the path %j', (path) => {
    expect(typeof parseJsonPath(path)).toBe('string');
  });

  it('accepts 20 steps with 20 selectors each', () => {
    expect(parseJsonPath(`$${'.a'.repeat(20)}`)).toMatchObject({ isSingular: true });
    expect(parseJsonPath(`$[${'*,'.repeat(19)}0]`)).toMatchObject({ isSingular: false });
  });
});
