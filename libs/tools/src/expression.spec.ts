import { describe, expect, it } from '@jest/globals';

import { compileExpression, type ExpressionAnswer, type ExpressionValues, MAX_EXPRESSION_SIZE } from './expression.js';

const values: ExpressionValues = {
  input: {
    items: [
      { name: 'a', count: 1 },
      { name: 'b', count: 2.5 },
    ],
    none: null,
  },
  text: '{"items": …}',
  outputs: { writer: 'hello' },
  inputs: { most: 3 },
};

function answer(source: string, over: Partial<ExpressionValues> = {}): ExpressionAnswer {
  const compiled = compileExpression(source);
  if (!compiled.ok) throw new Error(compiled.problem);
  return compiled.evaluate({ ...values, ...over });
}

describe('an expression', () => {
  it.each([
    ['input', values.input],
    ['input.items.map(item, item.name)', ['a', 'b']],
    ['input.items.filter(item, item.count > 2)', [{ name: 'b', count: 2.5 }]],
    ['input.items.map(item, item.name).joinTexts(", ")', 'a, b'],
    ['{"all": input.items.size(), "first": input.items[0].name}', { all: 2, first: 'a' }],
    ['input.items[0].count + 1.0', 2],
    ['outputs.writer + "!"', 'hello!'],
    ['inputs.most > 2 ? "many" : "few"', 'many'],
    ['[1, 2u, 2.5, null, true]', [1, 2, 2.5, null, true]],
    ['text.size()', 12],
    ['input.none', null],
  ])('%s', (source, expected) => {
    expect(answer(source)).toEqual({ ok: true, value: expected });
  });

  it.each([
    ['input.missing', /fails/],
    ['input.items[0].count + 1', /fails/],
    ['input.items.joinTexts("")', /list of texts/],
    ['b"abc"', /type that JSON does not have/],
    ['type(1)', /type that JSON does not have/],
    ['1.0 / 0.0', /number is one that JSON does not have/],
    ['9007199254740993', /number is one that JSON does not have/],
  ])('fails: %s', (source, problem) => {
    const given = answer(source);
    expect(given.ok ? '' : given.problem).toMatch(problem);
  });

  it.each([
    ['input.matches("(a+)+$")', /matches\(\), which can take for ever/],
    ['[text].join(text)', /join\(\), which expressions do not have/],
    ['timestamp(0)', /timestamp\(\)/],
    ['process.env', /Unknown variable: process/],
    ['input.', /cannot be read/],
    ['', /cannot be read/],
    ['x'.repeat(3_000), /longer than/],
  ])('rejects %.30s', (source, problem) => {
    const compiled = compileExpression(source);
    expect(compiled.ok ? '' : compiled.problem).toMatch(problem);
  });
});

describe('an expression over its limits', () => {
  const many = Array.from({ length: 20_000 }, (_, i) => i);
  const long = 'x'.repeat(1_000_000);

  it.each([
    ['texts', '[1,2,3,4,5].map(a, text)', /bigger than/],
    ['joined texts', '[1,2,3,4,5].map(a, text).joinTexts("")', /bigger than/],
    ['lists of lists', 'input.map(a, input.map(b, input.map(c, c)))', /takes too long/],
    ['a text grown in a loop', '[1,2,3].map(a, text + text + text + text + text)', /bigger than/],
  ])('stops before it makes %s', (_fact, source, problem) => {
    const given = answer(source, { input: many, text: long });
    expect(given.ok ? '' : given.problem).toMatch(problem);
  });

  it.each(['contains', 'indexOf', 'lastIndexOf', 'split'])('ends a search that V8 cannot interrupt: %s', (name) => {
    // It takes minutes where V8 compares each place with the whole text that is searched for.
    const half = 'x'.repeat(1_000_000);
    for (const source of [`text.${name}(input)`, `[input].map(wanted, text.${name}(wanted))`]) {
      const given = answer(source, { text: 'x'.repeat(4_000_000), input: `${half}y${half}` });
      if (!given.ok) expect(given.problem).toBe('takes too long');
    }
  });

  it.each([
    ['text.contains(input)', true],
    ['text.indexOf(input)', 5_000],
    ['text.indexOf(input, 5001)', 15_001],
    ['text.lastIndexOf(input)', 15_001],
    ['text.lastIndexOf(input, 15000)', 5_000],
    ['text.split(input)', ['x'.repeat(5_000), 'x'.repeat(5_000), 'x'.repeat(1_000)]],
    ['text.split(input, 2)', ['x'.repeat(5_000), `${'x'.repeat(10_000)}y${'x'.repeat(1_000)}`]],
  ])('returns the same for a long text as for a short one: %s', (source, value) => {
    // Just long enough for the linear search: a slow machine must not reach the time limit.
    const part = `${'x'.repeat(10_000)}y`;
    const text = `${part}${part}${'x'.repeat(1_000)}`;
    expect(answer(source, { text, input: `${'x'.repeat(5_000)}y` })).toEqual({ ok: true, value });
  });

  it('rejects a position beyond a long text', () => {
    const given = answer('text.indexOf(input, 9000000)', { text: long, input: 'y'.repeat(200) });
    expect(given.ok ? '' : given.problem).toContain('out of range');
  });

  it.each([
    ['parts of a text', 'text.split("").size()', /split\(\) makes more than a list of 1000000/],
    ['parts between texts', 'text.split("x").size()', /makes more than a list of 1000000|takes too long/],
    ['added texts', `(${Array.from({ length: 20 }, () => 'text').join('+')}).size()`, /\+ makes more than a text of/],
    ['added lists', `(${Array.from({ length: 60 }, () => 'input').join('+')}).size()`, /\+ makes more|takes too long/],
    ['searches', `[${Array.from({ length: 90 }, () => 'text.indexOf("xy")').join()}]`, /takes too long/],
  ])('stops before it makes too many %s', (_fact, source, problem) => {
    const given = answer(source, { input: many, text: 'x'.repeat(1_000_001) });
    expect(given.ok ? '' : given.problem).toMatch(problem);
  });

  it('may return a value as large as a document', () => {
    expect(answer('[text, text, text, text]', { text: long }).ok).toBe(true);
    expect(4 * long.length).toBeLessThan(MAX_EXPRESSION_SIZE);
  });

  it('ignores names that every object inherits', () => {
    const input: unknown = JSON.parse('{"a": {"__proto__": {"x": 1}}, "b": {"constructor": "mine"}}');
    expect(answer('input.a.x', { input }).ok).toBe(false);
    expect(answer('has(input.a.toString)', { input })).toEqual({ ok: true, value: false });
    // The evaluator cannot determine the type of such an object, and reports that.
    expect(answer('input.b.constructor', { input }).ok).toBe(false);
    expect(JSON.stringify(answer('input', { input }))).toBe(JSON.stringify({ ok: true, value: input }));
  });
});
