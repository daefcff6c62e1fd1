import { readFileSync } from 'node:fs';

import { expect, it } from '@jest/globals';
import { buildSchema, parse, validate } from 'graphql';

import { documents } from './operations.js';

const schema = buildSchema(readFileSync('apps/api/schema.gql', 'utf8'));

it.each(Object.entries(documents))('the operation %s is valid for the schema', (_, document) => {
  expect(validate(schema, parse(document))).toEqual([]);
});
