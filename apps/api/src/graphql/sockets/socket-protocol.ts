import type { IncomingMessage } from 'node:http';

import { Inject, Injectable } from '@nestjs/common';
import {
  createSourceEventStream,
  type ExecutionArgs,
  type ExecutionResult,
  GraphQLError,
  OperationTypeNode,
} from 'graphql';
import type { Context, OperationResult, ServerOptions, SubscribePayload } from 'graphql-ws';

import type { Credentials } from '#auth';
import { credentialsOf, type GraphqlContext } from '#auth/api';
import { AppError, LOGGER, type Logger, newId, type RateLimit, rateLimited, TextsInMemory } from '#platform';

import { ContextFactory } from '../context-factory.js';
import { GraphqlExecutor } from '../documents/graphql-executor.js';
import { argsOf, type PreparedOperation } from '../documents/prepare-operation.js';
import { toPublicError, toRequestError } from '../to-public-error.js';
import { encoderOf, type EventEncoder, knownEncoderOf } from './event-encoder.js';
import { SocketAccess } from './socket-access.js';
import { closeCodes, closeFor, type SocketSession } from './socket-session.js';
import { SubscriptionRun } from './subscription-run.js';
import { UserSockets } from './user-sockets.js';

type SocketContext = Context<Record<string, unknown>, SocketSession>;

interface Running {
  /** The connection, and the id that the client gave the operation. */
  readonly connection: SocketContext;
  readonly id: string;
  readonly prepared: PreparedOperation;
  readonly context: GraphqlContext;
  /** Null: this is not a subscription, or only GraphQL's own execution can write its events. */
  readonly encoder: EventEncoder | null;
}

/** graphql-ws and graphql-js have slightly different types for the same object. */
interface GraphqlResult {
  readonly data?: ExecutionResult['data'] | undefined;
  readonly errors?: readonly GraphQLError[] | undefined;
}

/** Maximum running operations of one connection; one more ends it. */
const maxOperations = 100;
const operationsLimit: RateLimit = {
  name: 'operations_per_connection',
  value: maxOperations,
  raisedBy: 'fixed',
  counts: 'running operations of a connection',
};
const retryAfterSeconds = 5;
/** Every message of an operation repeats its id. */
const maxIdLength = 128;

/**
 * The callbacks of graphql-ws: which clients may connect, which operations may run, and how results are sent. Operations are prepared as
 * over HTTP; `SubscriptionRun` runs subscriptions.
 */
@Injectable()
export class SocketProtocol {
  private readonly running = new WeakMap<object, Running>();

  constructor(
    private readonly contexts: ContextFactory,
    private readonly executor: GraphqlExecutor,
    private readonly sockets: UserSockets,
    private readonly access: SocketAccess,
    private readonly texts: TextsInMemory,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** The options of graphql-ws. */
  options(): ServerOptions<Record<string, unknown>, SocketSession> {
    return {
      connectionInitWaitTimeout: 3_000,
      onConnect: (context) => this.connect(context),
      onClose: ({ extra }) => {
        extra.slots.close();
        extra.leave?.();
      },
      onSubscribe: (context, id, payload) =>
        id.length > maxIdLength ? [longId()] : this.prepare(context, { id, payload }),
      execute: (args) => this.respond(args),
      subscribe: (args) => this.subscribe(args),
      onOperation: (...[, , , args, result]) => this.operate(args, result),
      // graphql-ws gets a result only from a subscription that fails at its start.
      onNext: (...[, , , args, result]) => this.toPublic(this.runningOf(args).context.requestId, result),
      onError: (...[, , , errors]) => this.publicErrors(newId(), errors),
    };
  }

  private async connect({ extra, connectionParams }: SocketContext): Promise<boolean> {
    try {
      const who = await this.contexts.enter(connectionCredentials(connectionParams ?? {}, extra.request));
      extra.who = who;
      // The watch starts before the next wait, so that it also closes a connection whose access ends during that wait.
      const stop = this.access.watch(extra, closeFor.bind(undefined, extra.socket));
      extra.leave = stop;
      const release = await this.sockets.open(who.identity.userId);
      extra.leave = () => {
        stop();
        release();
      };
      extra.admit();
      // If the socket has closed meanwhile, its `close` event does not come again.
      if (extra.socket.readyState === extra.socket.CLOSED) extra.leave();
      return true;
    } catch (error) {
      const code = error instanceof AppError ? error.code : 'internal';
      // The socket counts as pending until this wait ends, and the number of pending sockets is limited.
      if (!(await this.access.waitBeforeRefusal(extra))) extra.socket.terminate();
      if (code === 'rate_limited') extra.socket.close(closeCodes.tooMany, 'Too many connections or attempts');
      else if (code === 'unauthenticated') extra.socket.close(closeCodes.unauthenticated, 'Unauthorized');
      else if (code === 'unavailable') extra.socket.close(closeCodes.unavailable, 'Try again later');
      else extra.socket.close(closeCodes.forbidden, 'Forbidden');
      return false;
    }
  }

  private async prepare(
    connection: SocketContext,
    { id, payload }: { readonly id: string; readonly payload: SubscribePayload },
  ): Promise<ExecutionArgs | readonly GraphQLError[]> {
    const { extra, subscriptions } = connection;
    const who = extra.who === undefined ? null : await this.contexts.refresh(extra.who);
    if (who === null) {
      closeFor(extra.socket, 'unauthorized');
      return [toRequestError(new AppError({ code: 'unauthenticated', message: 'Authentication required' }))];
    }
    extra.who = who;
    if (Object.keys(subscriptions).length > maxOperations)
      return [toRequestError(rateLimited(operationsLimit, retryAfterSeconds))];
    const { query, operationName, variables } = payload;
    const request = { query, operationName: operationName ?? undefined, variables: variables ?? undefined };
    const { userId } = who.identity;
    try {
      const prepared = await this.executor.prepare(request, userId);
      if (!('operation' in prepared)) return prepared;
      const isLive = prepared.operation.operation === OperationTypeNode.SUBSCRIPTION;
      const encoder = isLive ? await this.encoder(prepared, userId) : null;
      const close = closeFor.bind(undefined, extra.socket);
      const context = this.contexts.make(who, { requestId: newId(), close });
      const args = argsOf(prepared, context);
      this.running.set(args, { connection, id, prepared, context, encoder });
      return args;
    } catch (error) {
      return [toRequestError(error)];
    }
  }

  private async encoder(prepared: PreparedOperation, userId: string): Promise<EventEncoder | null> {
    const known = knownEncoderOf(prepared);
    return known === undefined ? this.executor.within(userId, () => encoderOf(prepared)) : known;
  }

  /**
   * Runs a query or a mutation and sends its result; graphql-ws receives an iterator without values. The operation starts when the
   * connection has a slot, its client has read earlier results, and the user has budget left. So unread results take bounded memory, and
   * running operations take no more time than the budget of the user. An operation does not start if the client completes it, or the
   * connection closes, before that.
   */
  private async *respond(args: ExecutionArgs): AsyncGenerator<never, void, undefined> {
    const { connection, id, prepared, context } = this.runningOf(args);
    const { outlet, slots } = connection.extra;
    const { userId } = context.identity;
    if (!(await slots.acquire())) {
      context.end();
      return;
    }
    const request = this.texts.open(userId);
    try {
      await this.executor.within(userId, () => undefined);
      await outlet.drained();
      if (!isWanted(connection, id)) return;
      const result = await request.run(() => this.executor.runArgs(prepared, args));
      if (!isWanted(connection, id)) return;
      const next = (shown: GraphqlResult) => ({ id, type: 'next', payload: this.toPublic(context.requestId, shown) });
      const toText = () => this.executor.textOf(userId, next(result), (error) => next({ errors: [error] }));
      await outlet.send(request.run(toText));
    } finally {
      request.end();
      slots.release();
      context.end();
    }
  }

  /** Returns the source of events. `operate` wraps it before the first read. */
  private async subscribe(args: ExecutionArgs): Promise<AsyncIterable<ExecutionResult> | ExecutionResult> {
    return (await createSourceEventStream(args)) as AsyncIterable<ExecutionResult> | ExecutionResult;
  }

  private operate(args: ExecutionArgs, result: OperationResult): OperationResult | undefined {
    const { connection, id, prepared, context, encoder } = this.runningOf(args);
    if (prepared.operation.operation !== OperationTypeNode.SUBSCRIPTION) return undefined;
    if (!(Symbol.asyncIterator in result)) {
      context.end();
      return undefined;
    }
    const { outlet } = connection.extra;
    const before = `{"id":${JSON.stringify(id)},"type":"next","payload":`;
    // Our subscription resolvers yield batches of events; see `PlainData`.
    const source = result as unknown as AsyncIterable<readonly object[]>;
    return new SubscriptionRun({
      ...{ prepared, context, encoder, source },
      outlet: {
        next: (text) => {
          outlet.write(`${before}${text}}`);
        },
        drained: () => outlet.drained(),
        toText: (executed) => JSON.stringify(this.toPublic(context.requestId, executed)),
      },
    });
  }

  private runningOf(args: ExecutionArgs): Running {
    const running = this.running.get(args);
    if (running === undefined) throw new Error('only operations that were prepared are run');
    return running;
  }

  private toPublic(requestId: string, { data, errors }: GraphqlResult) {
    const some = data === undefined ? {} : { data };
    return errors === undefined ? some : { ...some, errors: this.publicErrors(requestId, errors) };
  }

  private publicErrors(requestId: string, errors: readonly GraphQLError[]) {
    return errors.map((error) => toPublicError(error, { requestId, logger: this.logger }));
  }
}

/** Whether the client still waits for the result of the operation. */
function isWanted({ extra: { socket }, subscriptions }: SocketContext, id: string): boolean {
  return socket.readyState === socket.OPEN && id in subscriptions;
}

function longId(): GraphQLError {
  return new GraphQLError(`The operation id is longer than ${maxIdLength} characters`);
}

/**
 * The caller's credentials in `connection_init`: `authorization` ("Bearer …") or `apiKey`, and `workspaceId`. Browsers cannot set
 * headers on a WebSocket; other clients may, and the headers of the upgrade apply to every field that the payload leaves out.
 */
function connectionCredentials(params: Readonly<Record<string, unknown>>, request: IncomingMessage): Credentials {
  const headers = credentialsOf(request.headers);
  const authorization = textOf(params['authorization']) ?? textOf(params['Authorization']);
  const apiKey = textOf(params['apiKey']);
  return {
    authorization: authorization ?? (apiKey === undefined ? headers.authorization : `Bearer ${apiKey}`),
    workspaceId: textOf(params['workspaceId']) ?? headers.workspaceId,
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
