import type { INestApplication } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import { ModulesContainer } from '@nestjs/core';

import type { AbilitySubject, Action } from '#auth';
import { publicKey, requiredAbilityKey, requiredAuthenticationKey } from '#auth/api';

/** A method of a controller or resolver, its own or an inherited one. */
export interface Handler {
  readonly owner: object;
  readonly name: string;
  readonly key: string;
  readonly method: object;
}

/** The right that a handler declares. */
export interface Declared {
  readonly action: Action;
  readonly subject: AbilitySubject;
  readonly absent?: unknown;
}

const rootTypes = ['Query', 'Mutation', 'Subscription'];

/** The methods that Nest finds in the controllers or providers of an application: it walks the prototype chain, too. */
function handlersOf(app: INestApplication, kind: 'controllers' | 'providers'): readonly Handler[] {
  const modules = [...app.get(ModulesContainer).values()];
  const owners = new Set(modules.flatMap((module) => [...module[kind].values()].map(({ metatype }) => metatype)));
  return [...owners].flatMap((owner) => (typeof owner === 'function' ? handlersOfClass(owner) : []));
}

/** The methods of a class and of the classes that it extends; an overridden one counts once. */
export function handlersOfClass(owner: { readonly name: string; readonly prototype?: unknown }): readonly Handler[] {
  const found = new Map<string, Handler>();
  let prototype: unknown = owner.prototype;
  while (typeof prototype === 'object' && prototype !== null && prototype !== Object.prototype) {
    for (const [key, { value }] of Object.entries(Object.getOwnPropertyDescriptors(prototype)))
      if (typeof value === 'function' && !found.has(key))
        found.set(key, { owner, key, name: `${owner.name}.${key}`, method: value as object });
    prototype = Object.getPrototypeOf(prototype);
  }
  return [...found.values()];
}

/** The resolvers of queries, mutations and subscriptions, each as `Type.field`. */
export function rootResolversOf(app: INestApplication): readonly (Handler & { readonly field: string })[] {
  return handlersOf(app, 'providers').flatMap((handler) => {
    const type: unknown = Reflect.getMetadata('graphql:resolver_type', handler.method);
    const name: unknown = Reflect.getMetadata('graphql:resolver_name', handler.method);
    if (typeof type !== 'string' || !rootTypes.includes(type)) return [];
    return [{ ...handler, field: `${type}.${typeof name === 'string' ? name : handler.key}` }];
  });
}

/** The handlers of the REST routes. */
export function routesOf(app: INestApplication): readonly Handler[] {
  return handlersOf(app, 'controllers').filter(({ method }) => Reflect.hasMetadata(METHOD_METADATA, method));
}

/** The path of a route below the host, with the names of its parameters. */
export function pathOf({ owner, method }: Handler): string {
  const parts = [owner, method].flatMap((target) => Reflect.getMetadata(PATH_METADATA, target) as string | string[]);
  return `/${parts.filter((part) => part !== '' && part !== '/').join('/')}`.replaceAll('//', '/');
}

/** The names of the declarations that a handler or its class has. */
export function declarationsOf({ owner, method }: Handler): readonly string[] {
  return [requiredAbilityKey, requiredAuthenticationKey, publicKey].filter(
    (key) => Reflect.hasMetadata(key, method) || Reflect.hasMetadata(key, owner),
  );
}

/** The right that a handler requires; undefined: it requires none. */
export function abilityOfHandler({ method }: Handler): Declared | undefined {
  return Reflect.getMetadata(requiredAbilityKey, method) as Declared | undefined;
}
