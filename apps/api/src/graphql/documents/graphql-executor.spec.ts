import { expect, it } from '@jest/globals';
import { GraphQLSchemaHost } from '@nestjs/graphql';
import { buildSchema } from 'graphql';

import { Config } from '#platform';

import { GraphqlExecutor } from './graphql-executor.js';

it('GraphqlExecutor prepares a known document at once while new documents of the same user wait', async () => {
  const host = new GraphQLSchemaHost();
  host.schema = buildSchema('input Text { parts: [String] } type Query { job(id: ID!, text: Text): String }');
  const executor = new GraphqlExecutor(host, Config.from({}));
  const prepare = (query: string, text: object = { parts: ['a', 'b'] }) =>
    executor.prepare({ query, operationName: undefined, variables: { id: 'a', text } }, 'a user').then(
      () => 'prepared',
      () => 'refused',
    );
  const known = 'query Known($id: ID!, $text: Text) { job(id: $id, text: $text) }';
  await prepare(known);
  const floods = Array.from({ length: 1_000 }, (_, n) =>
    prepare(`query Q${n}($id: ID!) { ${'job(id: $id) '.repeat(200)} }`),
  );
  expect(await Promise.race([floods.at(-1), new Promise((resolve) => setImmediate(resolve))])).toBe('refused');
  expect(await Promise.all(Array.from({ length: 500 }, () => prepare(known)))).toEqual(Array(500).fill('prepared'));
  expect(await prepare(known, { parts: Array<string>(1_000).fill('a') })).toBe('refused');
});
