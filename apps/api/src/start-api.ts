import type { AddressInfo } from 'node:net';

import type { DynamicModule, INestApplication, LoggerService, Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { NextFunction, Request, Response } from 'express';
import helmet from 'helmet';

import type { Auth } from '#auth';
import { AppError, ConfigError, type Logger, type Platform, systemClock, TextsInMemory } from '#platform';
import { bodyMiddleware, CallerTurns, drainRestMiddleware, OpenStreams, RequestSchemaPipe } from '#platform/api';

import { ApiModule } from './api.module.js';
import { crossOriginMiddleware } from './auth/cross-origin.js';
import { hostMiddleware, hostNamesOf } from './auth/hosts.js';
import { corsMiddleware } from './auth/origins.js';
import { ErrorFilter } from './errors/error.filter.js';
import { refusalsMiddleware } from './errors/refusals.js';
import { requestIdMiddleware } from './errors/request-id.js';
import { graphqlSockets } from './extensions/graphql-socket.extension.js';
import type { ServerExtension } from './extensions/server-extension.js';
import { Readiness } from './health/readiness.js';
import { OpenApiDocument } from './openapi/openapi-document.js';
import { clientAddressKeys } from './refusals/client-address.js';
import { unsentResponsesMiddleware } from './streams/unsent-responses.js';

/** The extensions that `startApi` attaches to its server, in this order. */
const serverExtensions: readonly (() => ServerExtension)[] = [graphqlSockets];

/** Writes Nest's own messages to our log, at a lower level: operators do not need its messages during startup. */
class NestLogger implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log(message: unknown): void {
    this.logger.debug({ nest: toText(message) }, 'nest');
  }

  debug(message: unknown): void {
    this.logger.trace({ nest: toText(message) }, 'nest');
  }

  warn(message: unknown): void {
    this.logger.warn({ nest: toText(message) }, 'nest');
  }

  error(message: unknown): void {
    // `startApi` also rejects with these errors, and the launcher prints them as a sentence.
    if (message instanceof AppError || message instanceof ConfigError) return;
    if (toText(message).startsWith('Error: listen ')) return;
    this.logger.error(message instanceof Error ? { err: message } : { nest: toText(message) }, 'nest');
  }

  fatal(message: unknown): void {
    this.error(message);
  }
}

function toText(message: unknown): string {
  return typeof message === 'string' ? message : String(message);
}

export interface ApiOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Authenticates callers; the caller of `startApi` closes it after the API. */
  readonly auth: Auth;
  /** More modules for the same application, such as the worker's in role `all`. */
  readonly modules?: readonly (DynamicModule | Type)[];
}

/** A running API. */
export interface RunningApi {
  readonly url: string;
  readonly port: number;
  readonly app: INestApplication;
  /** Reports "not ready", ends live streams with `shutdown`, lets open requests finish (10 s), then frees everything except the platform. */
  close(): Promise<void>;
}

/** How long open requests may take to finish after the server starts to close. */
const closeTimeoutMs = 10_000;

/**
 * Serves REST, SSE and GraphQL. The caller opens platform and auth before the API, and closes them after it. Rejects if a module cannot
 * start or the port is in use; then everything is closed again.
 */
export async function startApi(platform: Platform, options: ApiOptions): Promise<RunningApi> {
  const app = await NestFactory.create<NestExpressApplication>(
    ApiModule.with({ platform, auth: options.auth, modules: options.modules ?? [] }),

    { bodyParser: false, abortOnError: false, logger: new NestLogger(platform.logger) },
  );
  try {
    return await serve(app, platform, options);
  } catch (error) {
    await app.close();
    throw error;
  }
}

async function serve(app: NestExpressApplication, platform: Platform, options: ApiOptions): Promise<RunningApi> {
  const extensions = serverExtensions.map((create) => create());
  prepare(app, platform, options.host);
  for (const extension of extensions) extension.beforeInit?.(app);
  app.useGlobalPipes(new RequestSchemaPipe());
  await app.init();
  app.get(OpenApiDocument).describe(app);
  for (const extension of extensions) await extension.afterInit?.(app);
  await app.listen(options.port, options.host);
  const { port } = app.getHttpServer().address() as AddressInfo; // the server listens on TCP, so this is an address
  let closing: Promise<void> | undefined;
  const close = async () => {
    app.get(Readiness).drain();
    await Promise.all([
      app.get(OpenStreams).closeAll('shutdown'),
      ...extensions.map((extension) => extension.close?.()),
    ]);
    const impatience = setTimeout(() => {
      app.getHttpServer().closeAllConnections();
    }, closeTimeoutMs);
    await app.close();
    clearTimeout(impatience);
  };
  const host = options.host.includes(':') ? `[${options.host}]` : options.host;
  return { url: `http://${host}:${port}`, port, app, close: () => (closing ??= close()) };
}

function prepare(app: NestExpressApplication, { config, metrics, logger }: Platform, host: string): void {
  const server = app.getHttpServer();
  // Headers that never end must not occupy a socket. The body reader has its own time limit.
  server.headersTimeout = 15_000;
  server.requestTimeout = config.values.BODY_TIMEOUT_MS + server.headersTimeout;
  app.disable('x-powered-by').disable('etag');
  const { ALLOWED_HOSTS, ALLOWED_ORIGINS } = config.values;
  const turns = new CallerTurns(systemClock);
  app.use(
    requestIdMiddleware,
    drainRestMiddleware(turns, systemClock),
    refusalsMiddleware({ metrics, logger }),
    unsentResponsesMiddleware(app.get(TextsInMemory), 4 * config.values.SLOW_VIEWER_MS),
    noStoreMiddleware,
    helmet(),
  );
  app.use(hostMiddleware(hostNamesOf(host, ALLOWED_HOSTS)), corsMiddleware(ALLOWED_ORIGINS), crossOriginMiddleware);
  app.use(bodyMiddleware(config.values, turns, clientAddressKeys(config.values.TRUSTED_PROXIES)));
  app.useGlobalFilters(app.get(ErrorFilter));
}

/** A response is for one caller and one moment, so caches must not store it. Streams set their own header. */
function noStoreMiddleware(_: Request, response: Response, next: NextFunction): void {
  response.setHeader('Cache-Control', 'no-store, private');
  next();
}
