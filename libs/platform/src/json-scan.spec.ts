import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { JsonScan, parseJson } from './json-scan.js';

const limits = { depth: 3, tokens: 10 };
const scanOf = (text: string) => new JsonScan(limits).push(Buffer.from(text));

describe('JsonScan', () => {
  it.each([
    ['[[[]]]', null],
    ['[[[[]]]]', 'depth'],
    ['[[[]],[[{"a":1}]]]', 'depth'],
    ['[{"a":[]},{"b":[1]},2]', 'tokens'],
    ['[1,2,3,4,5,6,7,8,9,10]', null],
    ['[1,2,3,4,5,6,7,8,9,10,11]', 'tokens'],
    ['"[[[[ , , , , , , , , , , {{{{"', null],
    [String.raw`"a\"[[[[\\"`, null],
    [String.raw`["a\\",[[["b"]]]]`, 'depth'],
  ])('rejects %s because of the limit on %s', (text, exceeded) => {
    expect(scanOf(text)).toBe(exceeded);
  });

  it('counts the levels of any JSON for any split of its bytes', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 8 }), fc.array(fc.nat({ max: 200 }), { maxLength: 10 }), (text, cuts) => {
        const bytes = Buffer.from(text);
        const depth = depthOf(JSON.parse(text));
        const places = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b), bytes.length];
        const pieces = places.slice(1).map((end, i) => bytes.subarray(places[i], end));
        const isOver = (limit: number) => {
          const scan = new JsonScan({ depth: limit, tokens: Number.MAX_SAFE_INTEGER });
          return pieces.map((piece) => scan.push(piece)).includes('depth');
        };
        expect(isOver(depth)).toBe(false);
        if (depth > 0) expect(isOver(depth - 1)).toBe(true);
      }),
    );
  });
});

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);

describe('parseJson', () => {
  it.each(['{"a":[1,2,{"b":"[[["}]}', '"text"', 'null', `[${nested(999)}]`, `[${'1,'.repeat(900_000)}1]`])(
    'returns what JSON.parse returns for a text within the limits',
    (text) => {
      expect(parseJson(text)).toEqual(JSON.parse(text));
    },
  );

  it.each([
    ['1,001 levels', nested(1_001), 'nested more than 1000 levels deep'],
    ['brackets that are never closed', '['.repeat(100_000), 'nested more than 1000 levels deep'],
    ['600,000 empty lists', `[${'[],'.repeat(600_000)}1]`, 'more than 1000000 tokens'],
  ])('rejects %s', (_name, text, problem) => {
    expect(() => parseJson(text)).toThrow(problem);
  });

  it('rejects a text with more tokens than its caller allows', () => {
    const text = `[${'1,'.repeat(998)}1]`;
    expect(parseJson(text, 999)).toHaveLength(999);
    expect(() => parseJson(text, 998)).toThrow('more than 998 tokens');
  });

  it('rejects a text that is not JSON', () => {
    expect(() => parseJson('{"a":')).toThrow(SyntaxError);
  });
});
