import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { matchesGlob } from '../matches-glob.js';
import { assertToolCallFilter, fitsNothing, likeOf, outcomePatterns, wordsOf } from './tool-call-filter.js';

/** LIKE as SQL has it. */
function isLike(pattern: string, text: string): boolean {
  const source = pattern.replaceAll(/\\(.)|[%_]|[^\\%_]/gsu, (part, escaped: string | undefined) => {
    if (part === '%') return '.*';
    if (part === '_') return '.';
    return (escaped ?? part).replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);
  });
  return new RegExp(`^${source}$`, 'su').test(text);
}

describe('a pattern of tools', () => {
  it('matches the same names in SQL and in a policy', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '.', '_', '%', '\\', '*', '?'), maxLength: 8 });
    fc.assert(
      fc.property(text, text, (pattern, name) => {
        const like = likeOf(pattern);
        expect(like === null ? pattern === name : isLike(like, name)).toBe(matchesGlob(pattern, name));
      }),
    );
  });

  it('becomes null for a plain name', () => {
    expect(likeOf('crm.find_all%')).toBeNull();
    expect(likeOf('crm.*')).toBe('crm.%');
  });
});

describe('the outcome patterns of a filter', () => {
  it.each([
    [{}, null],
    [{ statuses: ['error'] }, ['error', 'error:%']],
    [{ errorPhase: 'execution' }, ['%:execution', '%:execution/%']],
    [{ errorCode: 'a_b' }, [String.raw`%:%/a\_b`]],
    [{ statuses: ['error', 'denied'], errorPhase: 'x', errorCode: 'y' }, ['error:x/y', 'denied:x/y']],
  ] as const)('match the outcomes of %j', (filter, expected) => {
    expect(outcomePatterns(filter)).toEqual(expected);
  });
});

describe('the words of a text', () => {
  it('consist of letters and digits, each once, the longest first', () => {
    expect(wordsOf('Connect ECONNREFUSED 10.0.0.7, connect!')).toEqual(['econnrefused', 'connect', '10', '0', '7']);
    expect(wordsOf(' -- ')).toEqual([]);
  });
});

describe('a filter', () => {
  it('matches no call when a list of values is empty or the text has no words', () => {
    expect([fitsNothing({}), fitsNothing({ statuses: ['error'] }), fitsNothing({ errorText: 'a' })]).toEqual([
      false,
      false,
      false,
    ]);
    expect([fitsNothing({ statuses: [] }), fitsNothing({ runtimes: [] }), fitsNothing({ errorText: '!' })]).toEqual([
      true,
      true,
      true,
    ]);
  });

  it('fails when it exceeds its limits', () => {
    const condition = { path: ['a'], value: 1 };
    const refused = (field: string) => expect.objectContaining({ code: 'bad_request', field });
    expect(() => {
      assertToolCallFilter({ arguments: [condition, condition, condition, condition] });
    }).toThrow(refused('argument'));
    expect(() => {
      assertToolCallFilter({ tool: 'x'.repeat(201) });
    }).toThrow(refused('tool'));
    expect(() => {
      assertToolCallFilter({ maxDurationMs: -1 });
    }).toThrow(refused('durationMs'));
    assertToolCallFilter({ arguments: [condition], tool: 'x'.repeat(200), minDurationMs: 0 });
  });
});
