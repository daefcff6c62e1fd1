import { describe, expect, it } from '@jest/globals';

import { compileSchema } from './compile-schema.js';

const object = (properties: Record<string, unknown>): Record<string, unknown> => ({ type: 'object', properties });

describe('compileSchema', () => {
  it('applies each pattern of a schema to its own field', () => {
    const check = compileSchema(
      object({ a: { type: 'string', pattern: '^a+$' }, b: { type: 'string', pattern: '^b+$' } }),
    );
    expect(check({ a: 'aa', b: 'bb' })).toEqual([]);
    expect(check({ a: 'bb', b: 'aa' })).toHaveLength(2);
  });

  it('runs a catastrophic pattern in linear time', () => {
    const check = compileSchema(object({ a: { type: 'string', pattern: '^(a+)+$' } }));
    expect(check({ a: `${'a'.repeat(50_000)}!` })).toEqual(['"a" must match pattern "^(a+)+$"']);
  });

  it('refuses a pattern with look-around', () => {
    expect(() => compileSchema(object({ a: { pattern: '(?=a)b' } }))).toThrow('cannot be used');
  });

  it('refuses a remote reference without a request', () => {
    expect(() => compileSchema(object({ a: { $ref: 'http://127.0.0.1:1/schema.json' } }))).toThrow('cannot be used');
  });

  it('rejects a chain of references that is too long to compile', () => {
    const links = Array.from({ length: 500 }, (_, n) => [`p${n}`, { items: { $ref: `#/$defs/p${n + 1}` } }] as const);
    const $defs: Record<string, unknown> = Object.fromEntries<unknown>([...links, ['p500', { type: 'string' }]]);
    expect(() => compileSchema({ $defs, $ref: '#/$defs/p0' })).toThrow('its references are nested too deep');
  });

  it('fails for a schema that refers to itself without end', () => {
    const schema = { $ref: '#' };
    let problems: readonly string[] = [];
    try {
      problems = compileSchema(schema)({});
    } catch (error) {
      problems = [String(error)];
    }
    expect(problems.join()).toMatch(/cannot be/);
  });

  it('validates with a recursive schema', () => {
    const check = compileSchema(object({ child: { $ref: '#' }, n: { type: 'number' } }));
    expect(check({ child: { child: { n: 1 } } })).toEqual([]);
    expect(check({ child: { child: { n: 'x' } } })).toEqual(['"child.child.n" must be number']);
  });

  it('validates with 100,000 allowed values', () => {
    const values = Array.from({ length: 20_000 }, (_, index) => `value${index}`);
    const check = compileSchema(object({ a: { enum: values } }));
    expect(check({ a: 'value19999' })).toEqual([]);
    expect(check({ a: 'nope' })[0]).toMatch(/^"a" must be equal to one of the allowed values: /);
    const huge = Array.from({ length: 100_000 }, (_, index) => `value${index}`);
    expect(() => compileSchema(object({ a: { enum: huge } }))).toThrow('longer than');
  });

  it('validates by draft-07 when `$schema` names it', () => {
    const tuple = {
      type: 'object',
      properties: { a: { type: 'array', items: [{ type: 'string' }, { type: 'number' }] } },
    };
    const check = compileSchema({ $schema: 'http://json-schema.org/draft-07/schema#', ...tuple });
    expect(check({ a: ['x', 1] })).toEqual([]);
    expect(check({ a: ['x', 'y'] })).toEqual(['"a.1" must be number']);
  });

  it('compiles two schemas with the same id', () => {
    const first = compileSchema({ $id: 'https://x.test/a', ...object({ a: { type: 'string' } }) });
    const second = compileSchema({ $id: 'https://x.test/a', ...object({ a: { type: 'number' } }) });
    expect([first({ a: 1 }).length, second({ a: 1 }).length]).toEqual([1, 0]);
  });

  it('returns the compiled validator of an equal schema again', () => {
    expect(compileSchema({ type: 'object', title: 'same' })).toBe(compileSchema({ title: 'same', type: 'object' }));
  });

  it('evicts the least recently used schema', () => {
    const first = compileSchema({ type: 'object', title: 'first' });
    for (let n = 0; n < 200; n++) compileSchema({ type: 'object', title: `filler ${n}`, properties: {} });
    expect(compileSchema({ title: 'first', type: 'object' })).not.toBe(first);
  });

  it('does not count inherited members as present', () => {
    const check = compileSchema({ type: 'object', required: ['constructor', 'toString'] });
    expect(check({})).toHaveLength(2);
  });

  it('refuses `$async`, whose validators return a promise', () => {
    expect(() => compileSchema({ type: 'object', properties: { a: { $async: true, type: 'string' } } })).toThrow(
      '$async',
    );
  });

  it('finds duplicate items in one pass', () => {
    const check = compileSchema({ type: 'array', uniqueItems: true });
    const items = Array.from({ length: 6_000 }, (_, i) => ({ a: i, b: [i] }));
    expect(check(items)).toEqual([]);
    expect(check([...items, { b: [7], a: 7 }])).toEqual(['must NOT have duplicate items']);
  });

  it.each<[string, object]>([
    ['patterns that are small until they are compiled', object({ a: { pattern: 'a{1000}'.repeat(30_000) } })],
    ['many patterns', object(many(501, (n) => ({ pattern: `^a${n}$` })))],
    ['patterns that are large together', object(many(40, (n) => ({ pattern: `^a{300}${n}$` })))],
    ['many parts', object(many(2_600, () => ({ type: 'string', title: 'a' })))],
    ['long lists of names', { dependentRequired: { a: Array.from({ length: 4_000 }, (_, n) => `a${n}`) } }],
    ['parts behind data', object({ a: { enum: [many(5_000, () => ({}))] }, b: { $ref: '#/properties/a/enum/0/p0' } })],
  ])('refuses %s', (_, schema) => {
    expect(() => compileSchema({ type: 'object', ...schema })).toThrow(/The JSON Schema cannot be used: (?:its|it|a)/);
  });

  it('compiles a definition once if many places refer to it', () => {
    const $defs = { wide: object(many(400, () => ({ type: 'string' }))) };
    const check = compileSchema({ $defs, allOf: Array.from({ length: 1_000 }, () => ref('wide')) });
    expect(check({ p1: 1 })).toEqual(['"p1" must be string']);
  });

  it('compiles hundreds of alternatives', () => {
    const check = compileSchema({ oneOf: Array.from({ length: 800 }, (_, n) => object({ a: { const: n } })) });
    expect(check({ a: 799 })).toEqual([]);
  });

  it.each<[string, object, unknown]>([
    ['alternatives', { anyOf: Array.from({ length: 2_000 }, () => ({ type: 'string' })) }, 1],
    ['allowed values', { enum: Array.from({ length: 20_000 }, (_, n) => `value${n}`) }, 'x'],
    ['patterns of names', { patternProperties: many(400, () => ({})) }, many(400, () => 1)],
  ])('stops checking many %s against many values', (_, items, value) => {
    const check = compileSchema(object({ list: { type: 'array', items } }));
    expect(check({ list: [value] }).length).toBeLessThan(6);
    expect(check({ list: Array.from({ length: 50_000 }, () => value) })).toEqual([TOO_MUCH]);
  });

  it('stops at a recursive schema that validates each level twice', () => {
    const check = compileSchema(object({ a: { allOf: [{ $ref: '#' }, { $ref: '#' }] } }));
    expect(check(JSON.parse(`${'{"a":'.repeat(5)}1${'}'.repeat(5)}`))).toEqual(['"a.a.a.a.a" must be object']);
    expect(check(JSON.parse(`${'{"a":'.repeat(60)}1${'}'.repeat(60)}`))).toEqual([TOO_MUCH]);
  });

  it('stops at references that multiply exponentially', () => {
    const levels = Object.fromEntries(
      Array.from({ length: 40 }, (_, i) => [`l${i + 1}`, { allOf: [ref(`l${i}`), ref(`l${i}`)] }]),
    );
    const check = compileSchema({ $defs: { l0: { type: 'string' }, ...levels }, ...ref('l40') });
    expect(check('x')).toEqual([TOO_MUCH]);
  });
});

const TOO_MUCH = 'the value cannot be checked against its schema';

/** Members `p0`, `p1` … */
function many(count: number, make: (n: number) => unknown): Record<string, unknown> {
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [`p${n}`, make(n)]));
}

const ref = (name: string) => ({ $ref: `#/$defs/${name}` });
