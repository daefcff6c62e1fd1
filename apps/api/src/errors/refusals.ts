import type { NextFunction, Request, Response } from 'express';

import { type Clock, type Logger, type Metrics, systemClock } from '#platform';
import { refusalReasonOf } from '#platform/api';

import { requestIdOf } from './request-id.js';

/** Statuses of requests that were refused before any work: missing rights, too many, too large, too slow. */
const refused = new Set([401, 403, 408, 413, 415, 421, 429]);
/** One rejection per API, status and interval is logged, with the number of unlogged ones. */
const sampleMs = 10_000;

type Api = 'graphql' | 'openai' | 'rest';

interface Sample {
  at: number;
  unlogged: number;
}

/** Counts rejected requests for Prometheus and logs a sample, so that an attack cannot flood the log. */
export function refusalsMiddleware({ metrics, logger, clock = systemClock }: RefusalDependencies) {
  const count = metrics.counter(
    'nightshift_requests_refused_total',
    'Requests that were refused before any work, by API and HTTP status.',
    ['api', 'status'],
  );
  const samples = new Map<string, Sample>();
  const note = (request: Request, response: Response) => {
    const { statusCode: status } = response;
    if (!refused.has(status)) return;
    // Nest mounts the middleware of GraphQL at `/graphql`, where `request.path` is `/`.
    const path = request.originalUrl.split('?', 1)[0] ?? '';
    const api = apiOf(path);
    count.inc({ api, status });
    const now = clock.monotonic();
    const key = `${api} ${status}`;
    const sample = samples.get(key);
    if (sample !== undefined && now - sample.at < sampleMs) {
      sample.unlogged += 1;
      return;
    }
    samples.set(key, { at: now, unlogged: 0 });
    const { method, ip } = request;
    const details = {
      api,
      status,
      method,
      path: path.slice(0, 200),
      ip,
      requestId: requestIdOf(response),
      ...refusalReasonOf(response),
    };
    logger.warn({ ...details, unloggedBefore: sample?.unlogged ?? 0 }, 'a request was refused');
  };
  return (request: Request, response: Response, next: NextFunction): void => {
    response.once('finish', () => {
      note(request, response);
    });
    next();
  };
}

export interface RefusalDependencies {
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly clock?: Clock;
}

function apiOf(path: string): Api {
  if (path === '/graphql') return 'graphql';
  return /^\/v1(\/|$)/i.test(path) ? 'openai' : 'rest';
}
