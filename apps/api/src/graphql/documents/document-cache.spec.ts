import { describe, expect, it } from '@jest/globals';
import { buildSchema, GraphQLObjectType } from 'graphql';

import { pageCost } from '../connections/to-page.js';
import { DocumentCache, type ValidDocument } from './document-cache.js';
import { costProblem } from './operation-cost.js';

const schema = buildSchema('type Query { a: Query b: String list(first: Int, last: Int): [Query!]! }');
const query = schema.getQueryType();
if (query instanceof GraphQLObjectType) query.getFields()['list']!.extensions = { complexity: pageCost }; // eslint-disable-line @typescript-eslint/no-non-null-assertion -- declared above

const cache = new DocumentCache(schema);
const errorsOf = (source: string) => {
  const found = cache.get(source);
  return 'document' in found ? [] : found.map(({ message }) => message);
};

function validOf(source: string): ValidDocument {
  const found = cache.get(source);
  if (!('document' in found)) throw new Error(found[0]?.message);
  return found;
}

const costOf = (source: string, variables?: Record<string, unknown>) =>
  costProblem(validOf(source), { schema, operationName: undefined, variables });

describe('a document', () => {
  it('is parsed and validated once', () => {
    expect(validOf('{ b }')).toBe(validOf('{ b }'));
  });

  it('is not remembered when it is wrong', () => {
    expect(errorsOf('{ nope }')).toEqual([expect.stringContaining('Cannot query field')]);
    expect(errorsOf('{ b')).toEqual([expect.stringContaining('Syntax Error')]);
    expect(cache.get('{ nope }')).not.toBe(cache.get('{ nope }'));
  });

  it('is refused in time when it is deep, long, aliased, or full of directives', () => {
    const nested = (depth: number) => '{ a '.repeat(depth) + '{ b }' + ' }'.repeat(depth);
    const cases = [
      nested(20),
      nested(900),
      nested(2_000),
      nested(20_000),
      `{ ${'b '.repeat(10_000)} }`,
      `{ ${Array.from({ length: 500 }, (_, i) => `x${i}: b`).join(' ')} }`,
      `{ b ${'@include(if: true) '.repeat(300)} }`,
      `{ ...f } fragment f on Query { a { ...g } } fragment g on Query { a { ...f } }`,
      `{ ${Array.from({ length: 300 }, () => '...f').join(' ')} } fragment f on Query { ${'b '.repeat(300)} }`.replace(
        'b b',
        'x: b y: b '.repeat(40),
      ),
    ];
    for (const source of cases) {
      const began = process.cpuUsage();
      expect(errorsOf(source).length).toBeGreaterThan(0);
      // Not a speed test: quadratic work on these takes seconds, of work and not of waiting for a processor.
      expect(process.cpuUsage(began).user).toBeLessThan(1_000_000);
    }
  });

  it('stays within its bounds however many come', () => {
    const small = new DocumentCache(schema);
    for (let i = 0; i < 3_000; i += 1) small.get(`query Q${i} { b }`);
    expect(Reflect.get(small, 'known')).toHaveProperty('size', 500);
    small.get('query Q2999 { b }');
    expect(Reflect.get(small, 'characters')).toBeLessThan(500 * 40);
  });
});

describe('the cost of an operation', () => {
  it('multiplies by page sizes', () => {
    expect(costOf('{ list(first: 100) { list(first: 90) { b } } }')).toBeNull();
    expect(costOf('{ list(first: 100) { list(first: 100) { list(first: 2) { b } } } }')?.message).toContain(
      'the limit is 10000',
    );
    expect(costOf('{ list { list { list { list { b } } } } }')?.message).toContain('costs 168421');
  });

  it('takes page sizes from variables, each time anew', () => {
    const source = 'query($n: Int) { list(first: $n) { list(first: $n) { b } } }';
    expect(costOf(source, { n: 10 })).toBeNull();
    expect(costOf(source, { n: 100 })?.message).toContain('the limit is');
    expect(costOf(source, { n: 10 })).toBeNull();
  });

  it('does not count pages below one or above what pages may have', () => {
    expect(costOf('{ list(first: -5) { b } }')).toBeNull();
    expect(costOf('{ list(first: 1000000) { b } }')).toBeNull();
  });

  it('refuses variables of a wrong type', () => {
    expect(costOf('query($n: Int) { list(first: $n) { b } }', { n: 'x' })?.message).toContain('Int cannot represent');
  });
});
