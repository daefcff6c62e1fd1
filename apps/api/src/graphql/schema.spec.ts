import { readFileSync } from 'node:fs';

import { beforeAll, describe, expect, it } from '@jest/globals';
import { NestFactory } from '@nestjs/core';
import { GraphQLSchemaBuilderModule, GraphQLSchemaFactory } from '@nestjs/graphql';
import {
  getNamedType,
  type GraphQLNamedType,
  type GraphQLSchema,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
  isSpecifiedScalarType,
} from 'graphql';

import { cpuBoundCost, graphqlLimits } from '#platform/api';

import { graphqlResolvers } from '../api.module.js';
import { toSchemaFile } from './schema-file.js';

let schema: GraphQLSchema;

beforeAll(async () => {
  const app = await NestFactory.createApplicationContext(GraphQLSchemaBuilderModule, { logger: false });
  schema = await app.get(GraphQLSchemaFactory).create([...graphqlResolvers]);
  await app.close();
});

/** Every description of a type and its members, by coordinate. */
function descriptionsOf(type: GraphQLNamedType): (readonly [string, string | null | undefined])[] {
  const isRoot = ['Query', 'Mutation', 'Subscription'].includes(type.name);
  const own = isRoot ? [] : [[type.name, type.description] as const];
  if (isInputObjectType(type)) {
    const fields = Object.values(type.getFields()).map(
      (field) => [`${type.name}.${field.name}`, field.description] as const,
    );
    return [...own, ...fields];
  }
  if (!isObjectType(type) && !isInterfaceType(type)) return own;
  const fields = Object.values(type.getFields()).flatMap((field) => {
    const name = `${type.name}.${field.name}`;
    return [
      [name, field.description] as const,
      ...field.args.map((arg) => [`${name}(${arg.name}:)`, arg.description] as const),
    ];
  });
  return [...own, ...fields];
}

describe('GraphQL schema', () => {
  it('equals the committed schema (else: npm run schema)', () => {
    expect(toSchemaFile(schema)).toBe(readFileSync('apps/api/schema.gql', 'utf8'));
  });

  it('allows one query of a JSON document in an operation, because its work can take long', () => {
    const queries = Object.values(schema.getQueryType()?.getFields() ?? {});
    const ofDocuments = queries.filter(({ args }) => args.some(({ type }) => getNamedType(type).name === 'JSON'));
    expect(ofDocuments.map(({ name }) => name)).toContain('validateWorkflow');
    for (const { name, extensions } of ofDocuments)
      expect([name, extensions['complexity']]).toEqual([name, cpuBoundCost]);
    expect(2 * cpuBoundCost).toBeGreaterThan(graphqlLimits.cost);
  });

  it('describes every type, field and argument', () => {
    const types = Object.values(schema.getTypeMap()).filter(
      (type) => !isIntrospectionType(type) && !isSpecifiedScalarType(type),
    );
    const silent = types.flatMap(descriptionsOf).filter(([, text]) => text == null || text === '');
    expect(silent.map(([name]) => name)).toEqual([]);
  });

  it('gives each mutation one argument `input`, and each payload `userErrors`', () => {
    for (const field of Object.values(schema.getMutationType()?.getFields() ?? {})) {
      expect([field.name, field.args.map(({ name }) => name)]).toEqual([field.name, ['input']]);
      expect(String(field.type)).toMatch(/Payload!$/);
    }
  });
});
