import { beforeAll, describe, expect, it } from '@jest/globals';
import { execute, getIntrospectionQuery, getOperationAST, isObjectType, isUnionType, parse } from 'graphql';

import type { GraphqlContext } from '#auth/api';

import { eventModels as models } from '../../../../../test/harness/event-models.js';
import { buildTestSchema, type TestSchema } from '../../../../../test/harness/graphql-schema.js';
import { argsOf, type PreparedOperation } from '../documents/prepare-operation.js';
import { encoderOf } from './event-encoder.js';

let test: TestSchema;

beforeAll(async () => {
  test = await buildTestSchema();
});

const prepare = (query: string, variables: Record<string, unknown>) => test.prepare(query, variables);

/** Everything of every member of the union. */
function wholeSelection(): string {
  const { schema } = test;
  const union = schema.getType('JobEvent');
  if (!isUnionType(union)) throw new Error('JobEvent is a union');
  const parts = union.getTypes().map((type) => {
    const fields = Object.values(type.getFields()).map((field) => {
      const text = String(field.type).replaceAll(/[![\]]/g, '');
      const named = schema.getType(text);
      const inner = isObjectType(named) ? ` { ${Object.keys(named.getFields()).join(' ')} }` : '';
      return `${type.name}_${field.name}: ${field.name}${inner}`;
    });
    return `... on ${type.name} { ${fields.slice(0, 2).join(' ')} ${fields
      .slice(2)
      .join(' ')
      .replaceAll(/\w+_\w+: /g, '')} }`;
  });
  return parts.join(' ');
}

const documents = () => [
  'subscription($jobId: ID!) { jobEvents(jobId: $jobId) { __typename } }',
  'subscription($jobId: ID!) { e: jobEvents(jobId: $jobId) { ... on JobEventEntry { n: seq at ... on TextDeltaEvent { text } } } }',
  'subscription($jobId: ID!) { jobEvents(jobId: $jobId) { ...F ...F ... on TextDeltaEvent { text round } } } fragment F on JobEventEntry { seq attempt }',
  'subscription($jobId: ID!, $no: Boolean!, $yes: Boolean!) { jobEvents(jobId: $jobId) { ... @include(if: $no) { __typename } ... on TextDeltaEvent { text @skip(if: $no) offset @skip(if: $yes) } } }',
  'subscription($jobId: ID!) { jobEvents(jobId: $jobId) { ... on ToolCallEvent { toolCall { name } } ... on ToolCallUpdatedEvent { toolCall { status } toolCall { result error } } } }',
];

async function executed(prepared: PreparedOperation, model: object): Promise<string> {
  // Plain data needs no context.
  const result = await execute({ ...argsOf(prepared, {} as GraphqlContext), rootValue: { jobEvents: model } });
  expect(result.errors).toBeUndefined();
  return JSON.stringify(result);
}

describe('introspection of the schema', () => {
  it('costs less than one operation may', () => {
    const options = {
      inputValueDeprecation: true,
      specifiedByUrl: true,
      directiveIsRepeatable: true,
      schemaDescription: true,
    };
    expect(prepare(getIntrospectionQuery(options), {}).valid.introspects).toBe(true);
  });
});

describe('EventEncoder', () => {
  it('writes the same result as GraphQL execution, for every event and selection', async () => {
    const variables = { jobId: 'j', no: false, yes: true };
    const limited = wholeSelection().replaceAll(/\w+_\w+: /g, '');
    for (const query of [
      ...documents(),
      ...limited
        .split(/(?=\.\.\. on )/)
        .map((part) => `subscription($jobId: ID!) { jobEvents(jobId: $jobId) { __typename ${part} } }`),
    ]) {
      const prepared = prepare(query, variables);
      const encoder = encoderOf(prepared);
      for (const model of models) expect(encoder?.encode(model)).toBe(await executed(prepared, model));
    }
  });

  it('shares an encoder between viewers whose variables only select the job', () => {
    const [query = ''] = documents();
    expect(encoderOf(prepare(query, { jobId: 'a' }))).toBe(encoderOf(prepare(query, { jobId: 'b' })));
  });

  it('does not share an encoder between viewers whose variables select different fields', () => {
    const query = documents()[3] ?? '';
    const one = encoderOf(prepare(query, { jobId: 'j', no: true, yes: true }));
    const other = encoderOf(prepare(query, { jobId: 'j', no: false, yes: false }));
    expect(one?.encode(models[4] ?? {})).not.toBe(other?.encode(models[4] ?? {}));
  });

  it.each([
    ['a space after the @', 'seq @ include(if: $show)', ''],
    ['a comment after the @', 'seq @#\ninclude(if: $show)', ''],
    ['a fragment', '...F', 'fragment F on JobEventEntry { seq @ skip(if: $show) }'],
    ['a fragment named __proto__', '...__proto__', 'fragment __proto__ on JobEventEntry { seq @ skip(if: $show) }'],
    ['an inline fragment', '... @ include(if: $show) { ...F }', 'fragment F on JobEventEntry { seq }'],
  ])('writes each viewer the fields of its own variables with %s', async (_, selection, fragments) => {
    const query = `subscription($show: Boolean!) { jobEvents(jobId: "j") { __typename ... on JobEventEntry { ${selection} } } } ${fragments}`;
    const model = models.at(-1) ?? {};
    for (const show of [true, false, true]) {
      const prepared = prepare(query, { show });
      expect(encoderOf(prepared)?.encode(model)).toBe(await executed(prepared, model));
    }
  });

  it('caches encoders for the 16 latest sets of variables', () => {
    const flags = Array.from({ length: 5 }, (_, i) => `$v${i}: Boolean!`).join(' ');
    const names = ['seq', 'at', 'attempt', '__typename', 'x: seq'];
    const fields = names.map((name, i) => `${name} @include(if: $v${i})`).join(' ');
    const query = `subscription(${flags}) { jobEvents(jobId: "j") { ... on JobEventEntry { ${fields} } } }`;
    const choice = (bits: number) => Object.fromEntries(names.map((_, i) => [`v${i}`, (bits & (1 << i)) !== 0]));
    for (let bits = 0; bits < 32; bits += 1) encoderOf(prepare(query, choice(bits)));
    expect(prepare(query, choice(31)).valid.derived.size).toBe(16);
    expect(encoderOf(prepare(query, choice(31)))).toBe(encoderOf(prepare(query, choice(31))));
  });

  it('visits each fragment once when fragments spread each other', async () => {
    const doubling = Array.from({ length: 50 }, (_, i) => `fragment F${i} on JobEvent { ...F${i + 1} ...F${i + 1} }`);
    const last = 'fragment F50 on JobEvent { ... on JobEventEntry { seq } }';
    // Limits refuse this document; the compiler does not depend on them.
    const document = parse(`subscription { jobEvents(jobId: "j") { ...F0 } } ${doubling.join(' ')} ${last}`);
    const small = prepare('subscription { jobEvents(jobId: "j") { __typename } }', {});
    const operation = getOperationAST(document) ?? small.operation;
    const prepared = { ...small, document, operation, valid: { ...small.valid, document, derived: new Map() } };
    for (const model of models) expect(encoderOf(prepared)?.encode(model)).toBe(await executed(prepared, model));
  });

  it('falls back to GraphQL execution for a selection that is too large to compile', () => {
    const fragments = Array.from({ length: 95 }, () => '... on JobEventEntry { seq at attempt }').join(' ');
    const prepared = prepare(`subscription { jobEvents(jobId: "j") { ${fragments} } }`, {});
    expect(encoderOf(prepared)).toBeNull();
  });

  it('encodes each event once', () => {
    const encoder = encoderOf(prepare(documents()[1] ?? '', { jobId: 'j' }));
    const [, model = {}] = models;
    const text = encoder?.encode(model);
    expect(encoder?.encode(model)).toBe(text);
  });

  it('falls back to GraphQL execution for an event that does not match its type', () => {
    const encoder = encoderOf(prepare(documents()[1] ?? '', { jobId: 'j' }));
    expect(encoder?.encode({ __typename: 'TextDeltaEvent', seq: null })).toBeNull();
    expect(encoder?.encode({ __typename: 'Unheard' })).toBeNull();
  });
});
