import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { type CallFragment, ToolCallAssembler, ToolCallsTooLarge } from './tool-call-assembler.js';

const limits = { maxToolCalls: 5, maxArgumentsLength: 1_000 };

function assemble(fragments: readonly CallFragment[]): readonly string[] {
  let made = 0;
  const assembler = new ToolCallAssembler(limits, () => `made_${++made}`);
  for (const fragment of fragments) assembler.add(fragment);
  return assembler.finish().map((call) => `${call.callId} ${call.name} ${call.arguments}`);
}

const f = (name?: string, text?: unknown) => ({
  ...(name === undefined ? {} : { name }),
  ...(text === undefined ? {} : { arguments: text }),
});

describe('ToolCallAssembler', () => {
  const two = ['a one {"x":1}', 'b two {"y":2}'];

  it.each<[string, CallFragment[], string[]]>([
    [
      'index on each fragment, id on the first',
      [{ index: 0, id: 'a', function: f('one', '') }, { index: 0, function: f(undefined, '{"x"') }, { index: 1, id: 'b', function: f('two', '') },
       { index: 0, function: f(undefined, ':1}') }, { index: 1, function: f(undefined, '{"y":2}') }],
      two,
    ],
    ['whole calls, all with index 0 (ollama #15457)', [{ index: 0, id: 'a', function: f('one', '{"x":1}') }, { index: 0, id: 'b', function: f('two', '{"y":2}') }], two],
    ['whole calls without index (ollama #7881)', [{ id: 'a', function: f('one', '{"x":1}') }, { id: 'b', function: f('two', '{"y":2}') }], two],
    [
      'all index 0, each in fragments',
      [{ index: 0, id: 'a', function: f('one', '') }, { index: 0, function: f(undefined, '{"x":1}') }, { index: 0, id: 'b', function: f('two', '') },
       { index: 0, function: f(undefined, '{"y":2}') }],
      two,
    ],
    [
      'the head on a used index, its tail on the next one (agno #8880)',
      [{ index: 0, id: 'a', function: f('one', '{"x":1}') }, { index: 0, id: 'b', function: f('two', '') }, { index: 1, function: f(undefined, '{"y":2}') }],
      two,
    ],
    [
      'an id on every fragment, no index',
      [{ id: 'a', function: f('one', '{"x"') }, { id: 'b', function: f('two', '{"y"') }, { id: 'a', function: f(undefined, ':1}') }, { id: 'b', function: f('two', ':2}') }],
      two,
    ],
    [
      'a seen id on another index',
      [{ index: 0, id: 'a', function: f('one', '{"x"') }, { index: 3, id: 'a', function: f('one', ':1}') }, { index: 4, id: 'b', function: f('two', '{"y":2}') }],
      two,
    ],
    ['fragments with neither id nor index', [{ id: 'a', function: f('one') }, { function: f(undefined, '{"x"') }, { function: f(undefined, ':1}') }], ['a one {"x":1}']],
    ['the name in a late fragment', [{ index: 0, id: 'a', function: f('', '{"x"') }, { index: 0, function: f('one', ':1}') }], ['a one {"x":1}']],
    ['the id in a late fragment', [{ index: 0, function: f('one', '{"x"') }, { index: 0, id: 'a', function: f(undefined, ':1}') }], ['a one {"x":1}']],
    ['no ids at all', [{ index: 0, function: f('one', '{"x":1}') }, { index: 1, function: f('two', '{"y":2}') }], ['made_1 one {"x":1}', 'made_2 two {"y":2}']],
    ['neither ids nor indexes, whole', [{ function: f('one', '{"x":1}') }, { function: f('one', '{"x":2}') }], ['made_1 one {"x":1}', 'made_2 one {"x":2}']],
    ['empty ids', [{ index: 0, id: '', function: f('one', '{"x":1}') }, { index: 0, id: '', function: f('two', '{}') }], ['made_1 one {"x":1}', 'made_2 two {}']],
    ['one id for two whole calls', [{ index: 0, id: 'a', function: f('one', '{"x":1}') }, { index: 1, id: 'a', function: f('one', '{"x":2}') }], ['a one {"x":1}', 'made_1 one {"x":2}']],
    ['the name repeated in each fragment', [{ index: 0, id: 'a', function: f('one', '{"x"') }, { index: 0, id: 'a', function: f('one', ':1}') }], ['a one {"x":1}']],
    ['empty and missing arguments', [{ index: 0, id: 'a', function: f('one', '') }, { index: 1, id: 'b', function: f('two') }, { index: 2, id: 'c', function: f('six', ' ') }], ['a one {}', 'b two {}', 'c six {}']],
    ['arguments as an object', [{ index: 0, id: 'a', function: f('one', { x: 1 }) }], ['a one {"x":1}']],
    ['nothing in them', [{}, { index: 0 }, { function: null }, { index: 1, id: '', function: f('', '') }], []],
    ['nonsense types', [{ index: '0', id: 7, function: { name: 5, arguments: 6 } }], []],
    ['an index that starts elsewhere', [{ index: 7, id: 'a', function: f('one', '{"x"') }, { index: 7, function: f(undefined, ':1}') }], ['a one {"x":1}']],
  ])('assembles calls from %s', (_, fragments, calls) => {
    expect(assemble(fragments)).toEqual(calls);
  }); // prettier-ignore

  it('assembles calls for any split of their arguments', () => {
    fc.assert(
      fc.property(
        fc.array(fc.jsonValue(), { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 1, max: 9 }),
        (values, size) => {
          const texts = values.map((value) => JSON.stringify({ value }).slice(0, 90));
          const fragments = texts.flatMap((text, index) => [
            { index, id: `id${index}`, function: f(`n${index}`) },
            ...(text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []).map((part) => ({
              index,
              function: f(undefined, part),
            })),
          ]);
          expect(assemble(fragments).length).toBe(texts.length);
          fc.pre(texts.every((text) => !text.includes('\\u')));
          expect(assemble(fragments)).toEqual(
            texts.map((text, index) => `id${index} n${index} ${text.toWellFormed()}`),
          );
        },
      ),
    );
  });

  it('replaces NUL and lone surrogates, also escaped ones', () => {
    const [call] = assemble([{ id: 'a', function: f('one', '{"x":"\\u0000\\ud83d \ud83d"}') }]);
    expect(call).toBe('a one {"x":"\uFFFD\uFFFD \uFFFD"}');
  });

  it('keeps a surrogate pair that two fragments share', () => {
    expect(assemble([{ id: 'a', function: f('one', '{"x":"\ud83d') }, { function: f(undefined, '\ude00"}') }])).toEqual(
      ['a one {"x":"😀"}'],
    );
  });

  it('assembles a call whose name is repeated in 20,000 fragments in time', () => {
    const assembler = new ToolCallAssembler({ maxToolCalls: 1, maxArgumentsLength: 4_194_304 }, () => 'made');
    for (let i = 0; i < 20_000; i += 1) assembler.add({ index: 0, function: f('one', '['.repeat(20)) });
    expect(assembler.finish()).toEqual([{ callId: 'made', name: 'one', arguments: '['.repeat(400_000) }]);
  });

  it('keeps arguments that are not JSON unchanged', () => {
    expect(assemble([{ id: 'a', function: f('one', '{"x":') }])).toEqual(['a one {"x":']);
  });

  it('rejects calls over the limits on number and size', () => {
    expect(() => assemble([{ id: 'a', function: f('one', 'x'.repeat(998)) }])).toThrow(ToolCallsTooLarge);
    expect(() => assemble([{ id: 'a', function: f('x'.repeat(1_001)) }])).toThrow(ToolCallsTooLarge);
    expect(() =>
      assemble(Array.from({ length: 6 }, (_, index) => ({ index, id: `i${index}`, function: f('one') }))),
    ).toThrow(ToolCallsTooLarge);
  });

  it('limits the arguments of all calls of a response together', () => {
    const calls = (...lengths: number[]) =>
      lengths.map((length, index) => ({ index, id: `i${index}`, function: f('one', 'x'.repeat(length)) }));
    expect(assemble(calls(497, 497))).toHaveLength(2);
    expect(() => assemble(calls(497, 498))).toThrow(ToolCallsTooLarge);
  });
});
