import { expect, it } from '@jest/globals';
import { GraphQLSchemaHost } from '@nestjs/graphql';
import { buildSchema } from 'graphql';

import { assertReadable, Config, TextsInMemory } from '#platform';

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

it('GraphqlExecutor counts each copy of a text in a response, and refuses more than 64 MiB', () => {
  const executor = new GraphqlExecutor(new GraphQLSchemaHost(), Config.from({}));
  const text = 'a'.repeat(4_194_304);
  const responseWith = (copies: number) => ({
    data: Object.fromEntries(Array.from({ length: copies }, (_, i) => [`j${i}`, { text }])),
  });
  const send = (copies: number) =>
    new TextsInMemory().open('a user').run(() => {
      assertReadable(text.length);
      return executor.textOf('a user', responseWith(copies), ({ message }) => ({ refused: message }));
    });
  expect(send(16)).toHaveLength(JSON.stringify(responseWith(16)).length);
  expect(JSON.parse(send(17))).toEqual({ refused: expect.stringContaining('more than 64 MiB') });
});
