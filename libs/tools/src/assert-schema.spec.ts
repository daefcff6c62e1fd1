import { describe, expect, it } from '@jest/globals';

import { assertSchema } from './assert-schema.js';
import { compileSchema } from './compile-schema.js';
import { SchemaBudget } from './schema-limits.js';

const object = (properties: Record<string, unknown>): Record<string, unknown> => ({ type: 'object', properties });
const refused = /The JSON Schema cannot be used/;

describe('assertSchema', () => {
  it.each<[string, Record<string, unknown>]>([
    ['a keyword with a wrong value', { type: 'object', required: 'a' }],
    ['a wrong schema within another', object({ a: { allOf: [{ type: 'word' }] } })],
    ['a remote reference', object({ a: { $ref: 'http://127.0.0.1:1/schema.json' } })],
    ['a reference to nowhere', object({ a: { $ref: '#/$defs/none' } })],
    ['a reference to an unknown anchor', object({ a: { $ref: '#none' } })],
    ['a pattern that looks around', object({ a: { pattern: '(?=a)b' } })],
    ['a pattern of names that looks around', { patternProperties: { '(?=a)b': {} } }],
    ['an asynchronous schema', object({ a: { $async: true } })],
    ['a long schema', { title: 'x'.repeat(262_144) }],
    ['deep levels', JSON.parse(`${'{"not":'.repeat(250)}{}${'}'.repeat(250)}`) as Record<string, unknown>],
    ['many references to different places', object(many(1_000, (n) => ({ $ref: `#/properties/p${(n + 1) % 1_000}` })))],
  ])('refuses %s, as compileSchema does', (_, schema) => {
    expect(() => {
      assertSchema(schema);
    }).toThrow(refused);
    expect(() => compileSchema(schema)).toThrow(refused);
  });

  it.each<[string, Record<string, unknown>]>([
    ['a reference to a definition', { $defs: { a: { type: 'string' } }, ...object({ a: { $ref: '#/$defs/a' } }) }],
    ['an escaped reference', { $defs: { 'a/b~ c': {} }, ...object({ a: { $ref: '#/$defs/a~1b~0%20c' } }) }],
    ['a reference to itself', object({ a: { $ref: '#' } })],
    ['an anchor', { $defs: { a: { $anchor: 'here' } }, ...object({ a: { $ref: '#here' } }) }],
    ['an id', { $defs: { a: { $id: 'https://x.test/a' } }, ...object({ a: { $ref: 'https://x.test/a' } }) }],
    [
      'draft-07',
      { $schema: 'http://json-schema.org/draft-07/schema#', ...object({ a: { items: [{ type: 'string' }] } }) },
    ],
    ['data that looks like a schema', object({ a: { enum: [{ pattern: '(?=a)b' }, { $ref: '#none' }] } })],
    ['a property named like a keyword', object({ pattern: { type: 'string' }, $ref: { type: 'string' } })],
    ['a thousand described properties', object(many(1_000, (n) => ({ type: 'string', description: `p${n}` })))],
  ])('accepts %s, as compileSchema does', (_, schema) => {
    assertSchema(schema);
    compileSchema(schema);
  });

  it('limits the total size of the patterns of several schemas', () => {
    const patterns = new SchemaBudget();
    const schemaOf = (n: number) => object(many(100, (i) => ({ pattern: `^a${n}b${i}$` })));
    for (let n = 0; n < 5; n++) assertSchema(schemaOf(n), patterns);
    expect(() => {
      assertSchema(schemaOf(5), patterns);
    }).toThrow('too many patterns');
  });
});

/** Members `p0`, `p1` … */
function many(count: number, make: (n: number) => unknown): Record<string, unknown> {
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [`p${n}`, make(n)]));
}
