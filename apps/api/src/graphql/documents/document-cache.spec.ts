import { describe, expect, it } from '@jest/globals';
import { buildSchema, getIntrospectionQuery, GraphQLObjectType } from 'graphql';

import { pageCost } from '#platform/api';

import type { Variables } from './coerce-variables.js';
import { DocumentCache, type ValidDocument } from './document-cache.js';
import { prepareOperation } from './prepare-operation.js';

const schema = buildSchema(
  'type Query { a: Query b: String list(first: Int, last: Int): [Query!]! named(names: [String!]): Query nodes(ids: [ID!]!): [Query]! } type Subscription { b: String }',
);
const query = schema.getQueryType();
if (query instanceof GraphQLObjectType) query.getFields()['list']!.extensions = { complexity: pageCost }; // eslint-disable-line @typescript-eslint/no-non-null-assertion -- declared above

const costOfIds = ({ args, childComplexity }: { args: { ids: string[] }; childComplexity: number }) =>
  1 + args.ids.length * childComplexity;
if (query instanceof GraphQLObjectType) query.getFields()['nodes']!.extensions = { complexity: costOfIds }; // eslint-disable-line @typescript-eslint/no-non-null-assertion -- declared above

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

function problemOf(source: string, variables?: Record<string, unknown>) {
  const request = { query: source, operationName: undefined, variables };
  const prepared = prepareOperation({ schema, valid: validOf(source), request });
  return 'operation' in prepared ? null : prepared[0];
}

/** Fragments that stand for 2^levels fields. */
function doubling(levels: number, type = 'Query'): string {
  const body = (i: number) => (i === levels ? 'b' : `...F${i + 1} ...F${i + 1}`);
  const fragments = Array.from({ length: levels + 1 }, (_, i) => `fragment F${i} on ${type} { ${body(i)} }`);
  return `{ ...F0 } ${fragments.join(' ')}`;
}

const deepIntrospection = '{ __schema { types { fields { type { fields { type { fields { name } } } } } } } }';

describe('DocumentCache', () => {
  it('parses and validates a document once', () => {
    expect(validOf('{ b }')).toBe(validOf('{ b }'));
  });

  it('does not cache an invalid document', () => {
    expect(errorsOf('{ nope }')).toEqual([expect.stringContaining('Cannot query field')]);
    expect(errorsOf('{ b')).toEqual([expect.stringContaining('Syntax Error')]);
    expect(cache.get('{ nope }')).not.toBe(cache.get('{ nope }'));
  });

  it('rejects a deep, long, aliased or directive-heavy document in time', () => {
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

  it.each([
    ['fragments that spread each other twice', doubling(60), 'select at most 2000 fields and fragments'],
    [
      'such fragments in a subscription',
      `subscription ${doubling(60, 'Subscription')}`,
      'subscription may select at most 500',
    ],
    [
      'a fragment that spreads itself',
      '{ ...F } fragment F on Query { ...G } fragment G on Query { ...F }',
      'within itself',
    ],
    ['a fragment without use', '{ b } fragment F on Query { b }', 'never used'],
    ['one field 101 times', `{ ${'b '.repeat(101)} }`, 'Select "b" at most 100 times'],
    ['one field 11 times 11 times', `{ ${`a { ${'b '.repeat(11)} } `.repeat(11)} }`, 'Select "b" at most 100 times'],
    ['more than 50,000 characters', `{ b ${'\n'.repeat(50_000)} }`, 'longer than 50000 characters'],
    ['two __schema', '{ __schema { types { name } } x: __schema { types { name } } }', '__schema only once'],
    ['deep introspection', deepIntrospection, 'introspection depth'],
  ])('rejects a document with %s', (_, source, message) => {
    expect(errorsOf(source)).toEqual([expect.stringContaining(message)]);
  });

  it('accepts a document that uses a fragment many times', () => {
    const uses = Array.from({ length: 20 }, (_, i) => `x${i}: a { ...F }`).join(' ');
    expect(errorsOf(`{ ${uses} } fragment F on Query { a { ...G } b } fragment G on Query { b }`)).toEqual([]);
  });

  it('accepts introspection unless GRAPHQL_INTROSPECTION is false', () => {
    const closed = new DocumentCache(schema, { introspection: false });
    for (const source of [getIntrospectionQuery(), '{ __type(name: "Query") { name } }']) {
      expect(errorsOf(source)).toEqual([]);
      expect(closed.get(source)).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ message: expect.stringContaining('introspection') as unknown }),
        ]),
      );
    }
    expect(closed.get('{ __typename b }')).toHaveProperty('document');
  });

  it('stays within 500 documents and 2 MiB of text, and keeps the most recently used ones', () => {
    const small = new DocumentCache(schema);
    const used = small.get('{ b }');
    for (let i = 0; i < 3_000; i += 1) {
      small.get(`query Q${i} { b }`);
      expect(small.get('{ b }')).toBe(used);
    }
    expect(Reflect.get(small, 'documents')).toMatchObject({ size: 500 });
    for (let i = 0; i < 100; i += 1) small.get(`query Q${i} { b }${' '.repeat(40_000)}`);
    expect(Reflect.get(small, 'documents')).toMatchObject({ size: 52 });
    expect(small.get('{ b }')).not.toBe(used);
  });
});

describe('the cost check of an operation', () => {
  it('multiplies by page sizes', () => {
    expect(problemOf('{ list(first: 100) { list(first: 90) { b } } }')).toBeNull();
    expect(problemOf('{ list(first: 100) { list(first: 100) { list(first: 2) { b } } } }')?.message).toContain(
      'the limit is 10000',
    );
    expect(problemOf('{ list { list { list { list { b } } } } }')?.message).toContain('costs 168421');
  });

  it('reads page sizes from the variables of each request', () => {
    const source = 'query($n: Int) { list(first: $n) { list(first: $n) { b } } }';
    expect(problemOf(source, { n: 10 })).toBeNull();
    expect(problemOf(source, { n: 100 })?.message).toContain('the limit is');
    expect(problemOf(source, { n: 10 })).toBeNull();
  });

  it.each([
    ['spaces and comments', 'query($n: Int) { list(first : # many\n $n) { list(first:$n) { b } } }'],
    ['a directive with a space', 'query($n: Boolean!) { list(first: 100) { list(first: 100) @ skip(if: $n) { b } } }'],
  ])('counts the cost of each request with %s before its variables', (_, source) => {
    const [cheap, dear] = source.includes('Boolean') ? [true, false] : [10, 100];
    expect(problemOf(source, { n: cheap })).toBeNull();
    expect(problemOf(source, { n: dear })?.message).toContain('the limit is');
    expect(problemOf(source, { n: cheap })).toBeNull();
  });

  it('computes the cost of an operation without variables once', () => {
    const valid = validOf('query One { b } query Two { list { b } }');
    for (const operationName of ['One', 'Two', 'One'])
      prepareOperation({ schema, valid, request: { query: '', operationName, variables: {} } });
    expect([...valid.costs]).toEqual([
      ['One', 1],
      ['Two', 21],
    ]);
  });

  it('computes the cost of an operation once for each page size, condition and length of a list', () => {
    const valid = validOf(
      'query($n: Int, $b: Boolean!, $names: [String!]) { list(first: $n) { b @skip(if: $b) named(names: $names) { b } } }',
    );
    const prepare = (variables: Variables) => {
      const request = { query: '', operationName: undefined, variables };
      expect(prepareOperation({ schema, valid, request })).toHaveProperty('operation');
    };
    prepare({ n: 10, b: false, names: ['a'] });
    prepare({ n: 10, b: false, names: ['b'] });
    prepare({ n: 10, b: true, names: ['a'] });
    prepare({ n: 20, b: true, names: ['a', 'b'] });
    expect([...valid.costs.keys()]).toEqual([' 10 false 1', ' 10 true 1', ' 20 true 2']);
    for (let n = 1; n <= 250; n++) prepare({ n, b: true });
    expect(valid.costs.size).toBeLessThanOrEqual(100);
  });

  it('counts the ids of each request, also after a request with fewer', () => {
    const source = 'query($ids: [ID!]!) { nodes(ids: $ids) { list(first: 100) { b } } }';
    const ids = (length: number) => ({ ids: Array.from({ length }, (_, i) => String(i)) });
    expect(problemOf(source, ids(1))).toBeNull();
    expect(problemOf(source, ids(100))?.message).toContain('the limit is 10000');
    expect(problemOf(source, ids(1))).toBeNull();
  });

  it('keeps no cost of an operation with a name of 200 characters', () => {
    const valid = validOf(`query ${'Q'.repeat(200)}($n: Int) { list(first: $n) { b } }`);
    const request = { query: '', operationName: undefined, variables: { n: 10 } };
    expect(prepareOperation({ schema, valid, request })).toHaveProperty('operation');
    expect(valid.costs.size).toBe(0);
  });

  it('includes the lists of an introspection', () => {
    const names = Array.from({ length: 300 }, (_, i) => `T${i}`);
    const wide = buildSchema(`type Query { a: T0 } ${names.map((name) => `type ${name} { a: ${name} }`).join(' ')}`);
    const problemIn = (query: string) => {
      const valid = new DocumentCache(wide).get(query);
      if (!('document' in valid)) throw new Error(valid[0]?.message);
      const request = { query, operationName: undefined, variables: undefined };
      const prepared = prepareOperation({ schema: wide, valid, request });
      return 'operation' in prepared ? null : prepared[0];
    };
    const twice = (i: number) =>
      `x${i}: types { fields { args { type { name kind } } type { fields { name type { name } } } } }`;
    expect(problemIn(getIntrospectionQuery())).toBeNull();
    expect(
      problemIn(`{ __schema { ${Array.from({ length: 10 }, (_, i) => twice(i)).join(' ')} } }`)?.message,
    ).toContain('the limit is 10000');
  });

  it('limits a page size below 1 or above the maximum before it counts the cost', () => {
    expect(problemOf('{ list(first: -5) { b } }')).toBeNull();
    expect(problemOf('{ list(first: 1000000) { b } }')).toBeNull();
  });

  it('rejects variables with more than 20,000 values before it coerces them', () => {
    const source = 'query($names: [String!]) { named(names: $names) { b } }';
    const names = Array.from({ length: 20_001 }, () => 5);
    expect(problemOf(source, { names })?.message).toContain('more than 20000 values');
    expect(problemOf(source, { names: names.slice(2) })?.message).toContain('String cannot represent');
    expect(problemOf(source, { names: Array.from({ length: 9_000 }, () => 'x') })).toBeNull();
  });

  it('reports at most three invalid variables', () => {
    const valid = validOf('query($names: [String!]) { named(names: $names) { b } }');
    const variables = { names: Array.from({ length: 1_000 }, () => 5) };
    const refused = prepareOperation({ schema, valid, request: { query: '', operationName: undefined, variables } });
    expect(refused).toHaveLength(4);
  });

  it('refuses variables of a wrong type', () => {
    expect(problemOf('query($n: Int) { list(first: $n) { b } }', { n: 'x' })?.message).toContain(
      'Int cannot represent',
    );
  });
});
