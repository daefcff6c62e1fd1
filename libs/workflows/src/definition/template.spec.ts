import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { LIMITS } from './limits.js';
import { fillJson, fillText, lookupIn, namesIn, parseTemplate } from './template.js';

const lookup = lookupIn({
  input: 'hello',
  outputs: new Map([
    ['writer', 'a text'],
    ['node-1', 'dashed'],
    ['team:left', 'of a branch'],
    ['writer_error', '{"message":"no"}'],
    ['empty', ''],
  ]),
  inputs: new Map<string, unknown>([
    ['topic', 'tea'],
    ['limits', { most: 3 }],
    ['count', 2],
    ['nothing', null],
  ]),
  sessionId: 's-1',
});

const text = (template: string): string => fillText(parseTemplate(template), lookup);

describe('a template as text', () => {
  it.each([
    ['{{input}}', 'hello'],
    ['{{output}}', 'hello'],
    ['{{ writer }}', 'a text'],
    ['{{outputs.writer}}', 'a text'],
    ['{{outputs.node-1}} {{node-1}}', 'dashed dashed'],
    ['{{outputs.missing}}!', '!'],
    ['{{team:left}}', 'of a branch'],
    ['{{writer_error}}', '{"message":"no"}'],
    ['{{empty}}.', '.'],
    ['{{inputs.topic}} {{inputs.count}}', 'tea 2'],
    ['{{inputs.limits}} {{inputs.nothing}}', '{"most":3} null'],
    ['{{context.sessionId}}', 's-1'],
    ['Dear {{inputs.topic}}, {{input}}{{writer}}', 'Dear tea, helloa text'],
    ['{"a": {{inputs.count}}}', '{"a": 2}'],
  ])('%s is %s', (template, expected) => {
    expect(text(template)).toBe(expected);
  });

  it.each([
    '{{missing}}',
    '{{inputs.missing}}',
    '{{ missing }}',
    '{{constructor}}',
    '{{__proto__}}',
    '{{inputs.__proto__}}',
    '{{a b}}',
    '{{}}',
    '{{ }}',
    '{{input}',
    '{ {input}}',
    '{{in\nput}}',
    '{{é}}',
  ])('stays as written: %s', (template) => {
    expect(text(template)).toBe(template);
  });

  it('reads the innermost braces', () => {
    expect(text('{{{input}}}')).toBe('{hello}');
  });

  it('does not replace placeholders in inserted text', () => {
    const outputs = new Map([['a', '{{b}}{{']]);
    const names = lookupIn({ input: '{{a}}', outputs: outputs.set('b', 'no'), inputs: new Map(), sessionId: '' });
    expect(fillText(parseTemplate('{{input}} {{a}}b}}'), names)).toBe('{{a}} {{b}}{{b}}');
  });

  it('lists each of its placeholders once', () => {
    expect(namesIn(parseTemplate('{{a}} {{b}} {{ a }} c'))).toEqual(['a', 'b']);
  });
});

describe('a value with templates', () => {
  it.each([
    ['{{inputs.limits}}', { most: 3 }],
    ['{{ inputs.count }}', 2],
    ['{{inputs.nothing}}', null],
    ['{{missing}}', '{{missing}}'],
    ['{{inputs.count}} ', '2 '],
    [
      { to: ['{{inputs.topic}}', 7, null, true], '{{input}}': 'x' },
      { to: ['tea', 7, null, true], '{{input}}': 'x' },
    ],
    ['', ''],
  ])('%j is %j', (value, expected) => {
    expect(fillJson(value, lookup)).toEqual(expected);
  });

  it('keeps members of any name', () => {
    const value: unknown = JSON.parse('{"__proto__": {"a": "{{input}}"}, "constructor": "{{input}}"}');
    const filled = fillJson(value, lookup);
    expect(JSON.stringify(filled)).toBe('{"__proto__":{"a":"hello"},"constructor":"hello"}');
    expect(Object.getPrototypeOf(filled)).toBe(Object.prototype);
  });
});

describe('a hostile template', () => {
  const long = lookupIn({ input: 'x'.repeat(100_000), outputs: new Map(), inputs: new Map(), sessionId: '' });

  it.each([
    ['one text', (): unknown => fillText(parseTemplate('{{input}}'.repeat(100)), long)],
    [
      'one value',
      (): unknown =>
        fillJson(
          Array.from({ length: 100 }, () => '{{input}}'),
          long,
        ),
    ],
  ])('throws when its result would be too long: %s', (_fact, fill) => {
    expect(fill).toThrow(`longer than ${LIMITS.filledLength} characters`);
  });

  // Each takes a moment; a backtracking pattern would need hours.
  it.each([
    ['braces', '{'.repeat(1_000_000)],
    ['starts', '{{ a'.repeat(250_000)],
    ['spaces', `{{${' '.repeat(1_000_000)}`],
    ['a name', `{{${'a'.repeat(1_000_000)}`],
    ['placeholders', '{{missing}}'.repeat(90_000)],
  ])('parses in linear time: %s', (_fact, template) => {
    expect(fillText(parseTemplate(template), long)).toBe(template);
  });

  it('produces the same text as plain replacement', () => {
    const piece = fc.oneof(
      fc.constantFrom('{{a}}', '{{ b }}', '{{c:d}}', '{{', '}}', '{', '}', ' ', '{{nope}}', '{{outputs.a}}'),
      fc.string({ maxLength: 4 }),
    );
    const values = fc.record({ a: fc.string(), b: fc.string(), 'c:d': fc.string() });
    fc.assert(
      fc.property(fc.array(piece), values, (pieces, outputs) => {
        const names = lookupIn({
          input: '',
          outputs: new Map(Object.entries(outputs)),
          inputs: new Map(),
          sessionId: '',
        });
        const source = pieces.join('');
        const expected = source.split(/(\{\{ *[A-Za-z0-9_.:-]+ *\}\})/).map((part) => {
          const name = /^\{\{ *([A-Za-z0-9_.:-]+) *\}\}$/.exec(part)?.[1];
          const known = name === undefined ? undefined : names(name);
          return typeof known === 'string' ? known : part;
        });
        expect(fillText(parseTemplate(source), names)).toBe(expected.join(''));
      }),
    );
  });
});
