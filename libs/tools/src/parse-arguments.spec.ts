import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { MAX_ARGUMENT_BYTES } from '#models';

import { closeJson, parseArguments, readArguments } from './parse-arguments.js';

describe('parseArguments', () => {
  it('reads every JSON object as JSON.parse does', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 5 })), (value) => {
        const text = JSON.stringify(value);
        fc.pre(!text.includes('"__proto__"'));
        expect(parseArguments(text)).toEqual({ ok: true, value: JSON.parse(text) as unknown });
      }),
    );
  });

  it.each([
    ['', {}],
    ['  ', {}],
    ['{"a":"b', { a: 'b' }],
    ['{"a":[1,2', { a: [1, 2] }],
    ['{"a":{"b":[{"c":"d\\"e', { a: { b: [{ c: 'd"e' }] } }],
  ])('closes truncated JSON: %s', (text, value) => {
    expect(parseArguments(text)).toEqual({ ok: true, value });
  });

  it.each(['{"a":', '{"a', '{"a":1,', '{"a":"b\\', '{a:1}', 'nope', "{'a':1}", '{"a":1}}'])(
    'adds no values for %s',
    (text) => {
      expect(parseArguments(text)).toEqual({ ok: false, problem: 'arguments are not valid JSON' });
    },
  );

  it.each(['null', '[]', '"x"', '1', '[{"a":1}'])('rejects %s because it is not an object', (text) => {
    expect(parseArguments(text)).toEqual({ ok: false, problem: 'arguments must be a JSON object' });
  });

  it('refuses arguments that are too large or nested too deep', () => {
    const large = JSON.stringify({ a: 'x'.repeat(MAX_ARGUMENT_BYTES) });
    expect(parseArguments(large)).toEqual({ ok: false, problem: 'arguments exceed 65536 bytes' });
    const deep = `{"a":${'['.repeat(5_000)}${']'.repeat(5_000)}}`;
    expect(parseArguments(deep)).toEqual({ ok: false, problem: 'arguments are nested more than 64 levels deep' });
    expect(parseArguments('{"a":'.repeat(10_000))).toMatchObject({ ok: false });
  });

  it('drops members that would set a prototype', () => {
    const text = '{"__proto__":{"canary":1},"a":[{"__proto__":{"canary":1}}],"constructor":{"prototype":1}}';
    expect(parseArguments(text)).toMatchObject({ ok: false });
    const parsed = readArguments(text);
    expect(parsed).toEqual({ ok: true, value: { a: [{}], constructor: { prototype: 1 } } });
    const copy: Record<string, unknown> = Object.assign({}, parsed.ok ? parsed.value : {});
    expect(copy['canary']).toBeUndefined();
    expect(({} as Record<string, unknown>)['canary']).toBeUndefined();
  });

  it('adds only closing quotes and brackets, at every cut of every text', () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(), (text, at) => {
        const cut = text.slice(0, at % (text.length + 1));
        expect(closeJson(cut).startsWith(cut)).toBe(true);
        expect(closeJson(cut).slice(cut.length)).toMatch(/^"?[\]}]*$/);
        expect(closeJson(text)).toBe(text);
      }),
    );
  });
});
