import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { GUARDS_METADATA, METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import { ModulesContainer } from '@nestjs/core';
import { GraphQLSchemaHost } from '@nestjs/graphql';

import { publicKey, requiredAbilityKey, requiredAuthenticationKey } from '#auth/api';

import { startTestApi, type TestApi } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';

let database: TestDatabase;
let test: TestApi;

beforeAll(async () => {
  database = await createTestDatabase();
  test = await startTestApi(database, { takesJobs: false });
});

afterAll(async () => {
  await test.close();
  await database.close();
});

/** A method of a controller or resolver. */
interface Handler {
  readonly owner: object;
  readonly name: string;
  readonly key: string;
  readonly method: object;
}

function handlersOf(kind: 'controllers' | 'providers'): readonly Handler[] {
  const modules = [...test.api.app.get(ModulesContainer).values()];
  const owners = new Set(modules.flatMap((module) => [...module[kind].values()].map(({ metatype }) => metatype)));
  return [...owners].flatMap((owner) => {
    if (typeof owner !== 'function') return [];
    const prototype: unknown = owner.prototype;
    if (typeof prototype !== 'object' || prototype === null) return [];
    return Object.entries(Object.getOwnPropertyDescriptors(prototype)).flatMap(([name, { value }]) =>
      typeof value === 'function' ? [{ owner, key: name, name: `${owner.name}.${name}`, method: value as object }] : [],
    );
  });
}

/** The names of the declarations that a handler or its class has. */
function declarationsOf({ owner, method }: Handler): readonly string[] {
  return [requiredAbilityKey, requiredAuthenticationKey, publicKey].filter(
    (key) => Reflect.hasMetadata(key, method) || Reflect.hasMetadata(key, owner),
  );
}

describe('declared abilities', () => {
  it('every query, mutation and subscription of the schema declares one ability', () => {
    const { schema } = test.api.app.get(GraphQLSchemaHost);
    const roots = {
      Query: schema.getQueryType(),
      Mutation: schema.getMutationType(),
      Subscription: schema.getSubscriptionType(),
    };
    const fields = Object.entries(roots).flatMap(([type, root]) =>
      Object.keys(root?.getFields() ?? {}).map((name) => `${type}.${name}`),
    );
    const resolvers = handlersOf('providers').flatMap((handler) => {
      const type: unknown = Reflect.getMetadata('graphql:resolver_type', handler.method);
      const name: unknown = Reflect.getMetadata('graphql:resolver_name', handler.method);
      return typeof type === 'string' && type in roots
        ? [{ field: `${type}.${typeof name === 'string' ? name : handler.key}`, declarations: declarationsOf(handler) }]
        : [];
    });
    expect(fields.length).toBeGreaterThan(80);
    expect(resolvers.map(({ field }) => field).toSorted()).toEqual(fields.toSorted());
    expect(resolvers.filter(({ declarations }) => declarations.length !== 1)).toEqual([]);
    expect(resolvers.filter(({ declarations }) => declarations.includes(publicKey))).toEqual([]);
  });

  it('every REST route, SSE stream and /v1 endpoint declares one ability, or that it is public', () => {
    const routes = handlersOf('controllers').filter(({ method }) => Reflect.hasMetadata(METHOD_METADATA, method));
    expect(routes.length).toBeGreaterThan(25);
    expect(routes.filter((route) => declarationsOf(route).length !== 1).map(({ name }) => name)).toEqual([]);
    expect(routes.every(({ owner }) => Reflect.hasMetadata(PATH_METADATA, owner))).toBe(true);
  });

  it('every REST route that requires an ability is behind a guard, and no public one is', () => {
    const routes = handlersOf('controllers').filter(({ method }) => Reflect.hasMetadata(METHOD_METADATA, method));
    const isGuarded = ({ owner }: Handler) => Reflect.hasMetadata(GUARDS_METADATA, owner);
    const isPublic = (route: Handler) => declarationsOf(route).includes(publicKey);
    expect(routes.filter((route) => isPublic(route) === isGuarded(route)).map(({ name }) => name)).toEqual([]);
    expect(routes.filter(isPublic).map(({ owner }) => (owner as { readonly name: string }).name)).toEqual(
      expect.arrayContaining(['HealthController', 'OpenApiController']),
    );
  });
});
