import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ExecutionContext, Module, type NestInterceptor, RequestMethod } from '@nestjs/common';
import { GUARDS_METADATA, METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { GraphQLSchemaHost } from '@nestjs/graphql';

import { abilityOf, KEY_SCOPES, type MemberPrincipal, ROLES } from '#auth';
import { publicKey } from '#auth/api';
import { insertInterrupt } from '#jobs';
import { AppError, newId } from '#platform';

import { startTestApi, type TestApi } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import {
  abilityOfHandler,
  declarationsOf,
  type Declared,
  type Handler,
  handlersOfClass,
  pathOf,
  rootResolversOf,
  routesOf,
} from '../harness/declared-endpoints.js';
import { ask, type GraphqlReply, RawSocket } from '../harness/graphql.js';
import { operationsOf, type WalkedOperation } from '../harness/graphql-operations.js';

const reached = 'the handler would run';

/** Nest runs interceptors after every guard and before the handler. This one never runs the handler. */
class StopBeforeHandler implements NestInterceptor {
  isOn = false;

  intercept(_: ExecutionContext, next: Parameters<NestInterceptor['intercept']>[1]) {
    if (this.isOn) throw new AppError({ code: 'conflict', message: reached });
    return next.handle();
  }
}

const stop = new StopBeforeHandler();

@Module({ providers: [{ provide: APP_INTERCEPTOR, useValue: stop }] })
class StopModule {}

/** A caller, and the credential that it sends. */
interface Actor {
  readonly name: string;
  readonly principal: MemberPrincipal;
  readonly key: string;
}

let database: TestDatabase;
let test: TestApi;
let actors: readonly Actor[];
let jobId: string;
let interruptId: string;

beforeAll(async () => {
  database = await createTestDatabase();
  const env = { STREAMS_PER_PRINCIPAL: '500', SOCKETS_PER_USER: '500' };
  test = await startTestApi(database, { takesJobs: false, env, modules: [StopModule] });
  const ours = await test.people.workspaceOf('ours');
  const byRole = ROLES.map(async (role) => ({
    name: `the role ${role}`,
    principal: ours[role].person,
    key: await test.people.tokenOf(`ours-${role}`),
  }));
  const byScope = KEY_SCOPES.map(async (scope) => ({
    ...(await test.people.keyOf(ours.owner.principal, [scope])),
    name: `a key with the scope ${scope}`,
  }));
  actors = await Promise.all([...byRole, ...byScope]);
  const messages = [{ role: 'user', content: 'hi' }];
  const body = { _threadId: 't', _messageId: 'm', _admissionId: 'a', _background: true, messages };
  const started = await test.call('POST', '/api/jobs', { key: ours.owner.key, body });
  ({ jobId } = started.body as { jobId: string });
  interruptId = newId();
  const { workspaceId } = ours.owner.principal;
  await database.prisma.withWorkspace({ workspaceId }, (tx) =>
    insertInterrupt(
      tx,
      { workspaceId, jobId },
      {
        id: interruptId,
        kind: 'human_input',
        title: 'Choose',
        request: { mode: 'approval' },
        threadId: null,
        toolCallId: null,
      },
    ),
  );
  stop.isOn = true;
});

afterAll(async () => {
  await test.close();
  await database.close();
});

/** The error code that a caller without the declared right gets; null: the caller has the right. */
function refusalCode({ principal }: Actor, declared: Declared | undefined): 'forbidden' | 'not_found' | null {
  if (declared === undefined) return null;
  const ability = abilityOf(principal);
  if (ability.can(declared.action, declared.subject)) return null;
  if (ability.can('read', declared.subject)) return 'forbidden';
  return declared.absent === 'handler' ? null : 'not_found';
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
    const resolvers = rootResolversOf(test.api.app);
    expect(fields.length).toBeGreaterThan(80);
    expect(resolvers.map(({ field }) => field).toSorted()).toEqual(fields.toSorted());
    expect(resolvers.filter((handler) => declarationsOf(handler).length !== 1)).toEqual([]);
    expect(resolvers.filter((handler) => declarationsOf(handler).includes(publicKey))).toEqual([]);
  });

  it('every REST route, SSE stream and /v1 endpoint declares one ability, or that it is public', () => {
    const routes = routesOf(test.api.app);
    expect(routes.length).toBeGreaterThan(25);
    expect(routes.filter((route) => declarationsOf(route).length !== 1).map(({ name }) => name)).toEqual([]);
    expect(routes.every(({ owner }) => Reflect.hasMetadata(PATH_METADATA, owner))).toBe(true);
  });

  it('every REST route that requires an ability is behind a guard, and no public one is', () => {
    const isGuarded = ({ owner }: Handler) => Reflect.hasMetadata(GUARDS_METADATA, owner);
    const isPublic = (route: Handler) => declarationsOf(route).includes(publicKey);
    const routes = routesOf(test.api.app);
    expect(routes.filter((route) => isPublic(route) === isGuarded(route)).map(({ name }) => name)).toEqual([]);
    expect(routes.filter(isPublic).map(({ owner }) => (owner as { readonly name: string }).name)).toEqual(
      expect.arrayContaining(['HealthController', 'OpenApiController']),
    );
  });

  it('the walk of handlers finds inherited ones, and an overridden one once', () => {
    class Parent {
      inherited() {
        return 1;
      }
      overridden() {
        return 1;
      }
    }
    class Child extends Parent {
      override overridden() {
        return 2;
      }
    }
    const names = handlersOfClass(Child).map(({ name, method }) => [name, method === Child.prototype.overridden]);
    expect(names).toEqual([
      ['Child.constructor', false],
      ['Child.overridden', true],
      ['Child.inherited', false],
    ]);
  });
});

/** The code of the error with which a field was refused; an empty result of a query is a refusal, too. */
function outcomeOf(name: string, { data, errors }: Pick<GraphqlReply, 'data' | 'errors'>): unknown {
  const [error] = errors;
  if (error !== undefined) return error.extensions['reason'];
  type Result = { readonly userErrors?: readonly { readonly code: string }[]; readonly nodes?: readonly unknown[] };
  const result = data?.[name] as Result | readonly unknown[] | null;
  if (result === null) return 'not_found';
  const nodes = 'length' in result ? result : result.nodes;
  if (nodes !== undefined) return nodes.length === 0 ? 'not_found' : nodes;
  return 'userErrors' in result ? result.userErrors[0]?.code : result;
}

/** Runs an operation of every root field. The stop before the handler looks like a conflict. */
async function expectOutcomes(
  actor: Actor,
  kinds: readonly WalkedOperation['kind'][],
  run: (operation: WalkedOperation) => Promise<Pick<GraphqlReply, 'data' | 'errors'>>,
): Promise<void> {
  const declared = new Map(rootResolversOf(test.api.app).map((handler) => [handler.field, abilityOfHandler(handler)]));
  const { schema } = test.api.app.get(GraphQLSchemaHost);
  for (const operation of operationsOf(schema, jobId).filter(({ kind }) => kinds.includes(kind))) {
    const { kind, name } = operation;
    const type = { query: 'Query', mutation: 'Mutation', subscription: 'Subscription' }[kind];
    const refusal = refusalCode(actor, declared.get(`${type}.${name}`));
    expect([actor.name, name, outcomeOf(name, await run(operation))]).toEqual([
      actor.name,
      name,
      refusal ?? 'conflict',
    ]);
  }
}

describe('GraphQL refuses exactly the callers without the declared ability, before the handler runs,', () => {
  it('in every query and mutation over HTTP', async () => {
    const overHttp = (actor: Actor) =>
      expectOutcomes(actor, ['query', 'mutation'], async ({ document, variables }) =>
        ask(test, document, { key: actor.key, variables }),
      );
    await Promise.all(actors.map(overHttp));
  });

  it('in every query, mutation and subscription over WebSocket', async () => {
    const overSocket = async (actor: Actor) => {
      const socket = await RawSocket.enter(test, actor.key);
      await expectOutcomes(actor, ['query', 'mutation', 'subscription'], async ({ document: query, variables }) => {
        const id = newId();
        socket.send({ id, type: 'subscribe', payload: { query, variables } });
        const { payload } = await socket.until((message) => message.id === id);
        return { data: null, errors: [], ...(payload as Partial<GraphqlReply>) };
      });
      socket.close();
    };
    await Promise.all(actors.map(overSocket));
  });
});

it('every REST route, SSE stream and /v1 endpoint refuses exactly the callers without the declared ability, before the handler runs', async () => {
  const routes = routesOf(test.api.app).filter((route) => !declarationsOf(route).includes(publicKey));
  const knock = async (actor: Actor, route: Handler) => {
    const path = pathOf(route);
    const method = RequestMethod[Reflect.getMetadata(METHOD_METADATA, route.method) as RequestMethod];
    const id = path.startsWith('/api/interrupts') ? interruptId : jobId;
    const body = method === 'POST' ? { body: {} } : {};
    const reply = await test.call(method, path.replaceAll(/[:*]\w+/g, id), { key: actor.key, ...body });
    expect([actor.name, path, codeOf(reply.body)]).toEqual([actor.name, path, expectedCode(actor, route)]);
  };
  const knockAtAll = async (actor: Actor) => {
    for (const route of routes) await knock(actor, route);
  };
  await Promise.all(actors.map(knockAtAll));
});

function codeOf(body: unknown): unknown {
  const { code, error } = body as { readonly code?: unknown; readonly error?: { readonly code?: unknown } };
  return code ?? error?.code;
}

function expectedCode(actor: Actor, route: Handler): string {
  const path = pathOf(route);
  const isOpenAi = path.startsWith('/v1');
  // These routes admit the token of a delivery only, and API keys only.
  if (path.startsWith('/trigger')) return 'unauthenticated';
  if (isOpenAi && actor.principal.kind !== 'key') return 'invalid_api_key';
  if (isOpenAi && !abilityOf(actor.principal).can('read', 'Job')) return 'forbidden';
  const declared = abilityOfHandler(route);
  const refusal = refusalCode(actor, declared);
  if (refusal === null) return 'conflict';
  if (declared?.action === 'create') return 'forbidden';
  return refusal === 'forbidden' && declared?.subject === 'Interrupt' ? 'cannot_decide' : refusal;
}
