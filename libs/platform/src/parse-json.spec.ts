import { describe, expect, it } from '@jest/globals';

import { parseJson } from './parse-json.js';

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

  it('rejects a text that is not JSON', () => {
    expect(() => parseJson('{"a":')).toThrow(SyntaxError);
  });
});
