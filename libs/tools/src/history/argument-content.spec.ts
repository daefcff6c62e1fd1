import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { argumentContent, argumentContents, MAX_CONTENTS, parseArgumentCondition } from './argument-content.js';

const finds = (args: unknown, condition: string): boolean =>
  argumentContents(JSON.stringify(args)).includes(argumentContent(parseArgumentCondition(condition)));

describe('a condition on arguments', () => {
  it('consists of a path and the value at it', () => {
    const args = {
      to: 'ada',
      count: 3,
      deep: { list: [{ id: 7 }], flag: true, none: null },
      'odd "name"': 'x=y',
      0: 'zero',
    };
    for (const condition of [
      '$.to = "ada"',
      '$.to="ada"',
      ' $.count = 3.0 ',
      '$.count = 30e-1',
      '$.deep.list[0].id = 7',
      '$["deep"]["flag"] = true',
      '$.deep.none = null',
      '$["odd \\"name\\""] = "x=y"',
      '$.0 = "zero"',
    ]) {
      expect([condition, finds(args, condition)]).toEqual([condition, true]);
    }
  });

  it('distinguishes types, positions and letter case', () => {
    const args = { n: 1, s: '1', list: ['a', 'b'], t: 'true' };
    for (const condition of [
      '$.n = "1"',
      '$.s = 1',
      '$.list[1] = "a"',
      '$.list.0 = "a"',
      '$.t = true',
      '$.S = "1"',
      '$.x = null',
    ]) {
      expect([condition, finds(args, condition)]).toEqual([condition, false]);
    }
  });

  it('rejects any other value', () => {
    for (const text of [
      ...[
        '',
        '$',
        '$.a',
        '$.a =',
        '= 1',
        '$ = 1',
        'a = 1',
        '$.a = x',
        "$.a = 'x'",
        '$.a = "x',
        '$.a = {}',
        '$.a = [1]',
        '$.a == 1',
      ],
      ...['$.a[ = 1', '$.a[-1] = 1', '$..a = 1', '$.a = 1e400', '$.a = 1 or true', `$.a = "${'x'.repeat(2_000)}"`],
    ]) {
      expect(() => parseArgumentCondition(text)).toThrow(
        expect.objectContaining({ code: 'bad_request', field: 'argument' }),
      );
    }
  });

  it('accepts every text of a valid form', () => {
    const attempt = (text: string) => {
      try {
        return argumentContent(parseArgumentCondition(`$${text}`)).length > 0;
      } catch (error) {
        return (error as { readonly code?: string }).code === 'bad_request'; // what is thrown here is an AppError or a bug
      }
    };
    fc.assert(fc.property(fc.string(), (text) => attempt(text)));
  });

  it('matches every type of value among the indexed values', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 }), (args) => {
        const contents = argumentContents(JSON.stringify(args));
        expect(contents.length).toBeLessThanOrEqual(MAX_CONTENTS);
        for (const [name, value] of Object.entries(args)) {
          if (typeof value === 'object' && value !== null) continue;
          if (name === '__proto__' || contents.length === MAX_CONTENTS) continue;
          expect(contents).toContain(
            argumentContent(parseArgumentCondition(`$[${JSON.stringify(name)}] = ${JSON.stringify(value)}`)),
          );
        }
      }),
    );
  });
});

describe('the contents of arguments', () => {
  it('contain no values for text that is not an object, and none for a number without JSON', () => {
    expect(argumentContents('[1]')).toEqual([]);
    expect(argumentContents('not json')).toEqual([]);
    expect(argumentContents('{"n":1e400,"m":2}')).toEqual(['["m",2]']);
    expect(argumentContents('')).toEqual([]);
  });

  it('stay within a length for a value of any length, and can be stored', () => {
    const [long] = argumentContents(JSON.stringify({ text: 'x'.repeat(60_000) }));
    expect(long?.length).toBeLessThanOrEqual(200);
    expect(finds({ text: 'y'.repeat(500) }, `$.text = "${'y'.repeat(500)}"`)).toBe(true);
    expect(argumentContents('{"a":"\\u0000\\ud800"}')).toEqual(['["a","\\u0000\\ud800"]']);
  });
});
