import { PassThrough, pipeline, Readable, Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';

import type { Agent, Dispatcher } from 'undici';

import { type Clock, systemClock, type Timer } from '../clock.js';
import type { Config } from '../config/config.js';
import { addressCheck, createGuardedAgent, type GuardedAgentOptions } from './guarded-agent.js';
import {
  OutboundError,
  type OutboundStage,
  outboundTimedOut,
  redirectRefused,
  responseBroken,
  responseTooLarge,
  toOutboundError,
} from './outbound.errors.js';
import { type Hop, isRedirect, nextHop, type OutboundLimits, type OutboundRequest, toHop } from './outbound-request.js';
import { readOutboundUrl } from './outbound-url.js';

/**
 * Decodes the content coding of a response body (RFC 9110, 8.4: gzip, deflate, br) as a stream: backpressure applies to the decoded bytes,
 * and the reader decides how many it reads. Its errors are `OutboundError`s. Its end also ends the watch; destroying it ends the exchange.
 * Throws `outbound_broken` for other codings.
 */
function openBody(answer: Dispatcher.ResponseData, limits: OutboundLimits, watch: OutboundWatch): Readable {
  const coding = answer.headers['content-encoding'];
  const decoders = decodersOf(coding === undefined ? '' : String(coding));
  if (decoders === null) {
    answer.body.on('error', () => undefined).destroy();
    throw responseBroken();
  }
  // The compressed bytes are limited too, because an endless stream can decompress to nothing.
  const isBounded = decoders.length > 0 && limits.maxBytes !== null;
  const counter = counting(watch, isBounded ? limits.maxBytes + IN_FLIGHT_BYTES : Infinity);
  const last = new PassThrough({
    destroy: (error, done) => {
      watch.end();
      done(error === null ? null : asError(toOutboundError(error, watch.signal, 'reading')));
    },
  });
  pipeline([answer.body, counter, ...decoders, last], () => undefined); // an error ends all stages; the reader of the last stage gets it
  return last;
}

/** The limit of compressed bytes is higher by this much, so that decoded bytes are still read before the limit ends the stream. */
const IN_FLIGHT_BYTES = 65_536;

function counting(watch: OutboundWatch, maxBytes: number): Transform {
  let left = maxBytes;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      watch.heard();
      left -= chunk.length;
      if (left < 0) done(responseTooLarge('answer'));
      else done(null, chunk);
    },
  });
}

/** The reason of an abort may be any value, but a stream can only fail with an error. */
function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : responseBroken(reason);
}

/** Null: the coding is unknown, or there are several. Nested codings have no legitimate use and multiply the size. */
function decodersOf(coding: string): Transform[] | null {
  const codings = coding.toLowerCase().split(',');
  const named = codings.map((name) => name.trim()).filter((name) => name !== '' && name !== 'identity');
  const [make, more] = named.map((name) => DECODERS.get(name) ?? null);
  if (make === null || more !== undefined) return null;
  return make === undefined ? [] : [make()];
}

const DECODERS = new Map<string, () => Transform>([
  ['gzip', () => createGunzip()],
  ['x-gzip', () => createGunzip()],
  ['deflate', () => createInflate()],
  ['br', () => createBrotliDecompress()],
]);

/** The options of a guarded client. */
export interface GuardedFetchOptions extends GuardedAgentOptions {
  /** Allowed ports. `allowPrivate` allows every port. */
  readonly ports?: readonly number[];
  readonly clock?: Clock;
}

/** The default limits of a request. */
export const OUTBOUND_LIMITS: OutboundLimits = {
  maxBytes: 1_048_576,
  firstByteMs: 10_000,
  idleMs: 10_000,
  totalMs: 60_000,
  maxRedirects: 0,
};

/** A complete response. */
export interface OutboundResponse {
  readonly status: number;
  /** Names are in lower case; several values of one name are joined by `, `. */
  readonly headers: Readonly<Record<string, string>>;
  /** The URL of the response, after redirects. */
  readonly url: string;
  /** The decoded body. */
  readonly body: Uint8Array;
  /** Whether the body was longer than `maxBytes` and is truncated. */
  readonly isCut: boolean;
}

/** The options that `fetchWith` applies to every request. */
export type FetchPolicy = Pick<OutboundRequest, 'hosts' | 'limits'>;

interface OpenAnswer {
  readonly hop: Hop;
  readonly answer: Dispatcher.ResponseData;
  /** The decoded body, not limited yet. Destroying it ends the exchange. */
  readonly body: Readable;
  readonly maxBytes: number | null;
}

/**
 * The client for servers that tenants chose. It allows only http(s), the listed ports, URLs without credentials, and public addresses (see
 * `createGuardedAgent`). It checks each redirect like a first request, and on another origin removes everything that could be a secret. It
 * limits bytes, decompressed bytes and time. Failures are `OutboundError`s that contain no address; an abort of the caller's signal rejects
 * with its reason. The process shares one client; close it at the end.
 */
export class GuardedFetch {
  private readonly agent: Agent;
  private readonly resolve: (host: string) => Promise<void>;
  private readonly ports: ReadonlySet<number> | null;
  private readonly clock: Clock;

  constructor(options: GuardedFetchOptions = {}) {
    this.agent = createGuardedAgent(options);
    this.resolve = addressCheck(options);
    this.ports = options.allowPrivate === true ? null : new Set(options.ports ?? [80, 443, 8080, 8443]);
    this.clock = options.clock ?? systemClock;
  }

  /** Creates the client from the operator's settings. */
  static from({ values }: Config): GuardedFetch {
    const allowPrivate = values.ALLOW_PRIVATE_TOOL_URLS && values.NODE_ENV !== 'production';
    return new GuardedFetch({ allowPrivate, ports: values.OUTBOUND_PORTS });
  }

  /** Sends the request and reads a response with any status. A body over `maxBytes` is truncated, and `isCut` is set. */
  async request(request: OutboundRequest): Promise<OutboundResponse> {
    const opened = await this.open(request);
    const { hop, answer } = opened;
    const headers = Object.fromEntries(headersOf(answer));
    return { status: answer.statusCode, headers, url: hop.url.href, ...(await readAll(opened)) };
  }

  /**
   * Returns a `fetch` function with the same guard, for libraries that need one. The response may be streamed; the request body is sent at
   * once. Follows at most 5 redirects unless `limits` sets another number; a body over `maxBytes` fails with `outbound_too_large`. Pass null
   * for `maxBytes`, `idleMs` and `totalMs` if a stream may stay open.
   */
  fetchWith(policy: FetchPolicy = {}): typeof fetch {
    return async (input, init) => {
      this.readUrl(input instanceof Request ? input.url : input, policy.hosts);
      const request = new Request(input, init);
      const body = request.body === null ? {} : { body: new Uint8Array(await request.arrayBuffer()) };
      const limits = {
        maxRedirects: 5,
        ...policy.limits,
        ...(request.redirect === 'follow' ? {} : { maxRedirects: 0 }),
      };
      const { method, url, signal } = request;
      const headers = Object.fromEntries(request.headers);
      const opened = await this.open({ ...policy, method, url, headers, ...body, signal, limits });
      if (request.redirect === 'error' && isRedirect(opened.answer.statusCode)) {
        opened.body.destroy();
        throw redirectRefused('which this request does not allow');
      }
      return toResponse(opened);
    };
  }

  /**
   * Rejects what `request` would reject before it sends anything: the URL, and the current addresses of its host. Throws `OutboundError`;
   * `address_refused` with a cause means that the host has no address.
   */
  async check(url: string | URL, hosts?: readonly string[]): Promise<void> {
    await this.resolve(this.readUrl(url, hosts).hostname);
  }

  /** Ends all connections. */
  async close(): Promise<void> {
    await this.agent.destroy();
  }

  private readUrl(url: string | URL, hosts: readonly string[] = []): URL {
    return readOutboundUrl(url, { ports: this.ports, hosts });
  }

  private async open(request: OutboundRequest): Promise<OpenAnswer> {
    const limits = { ...OUTBOUND_LIMITS, ...request.limits };
    const watch = new OutboundWatch(this.clock, limits, request.signal);
    try {
      const { hop, answer } = await this.follow(request, limits, watch);
      return { hop, answer, body: openBody(answer, limits, watch), maxBytes: limits.maxBytes };
    } catch (error) {
      watch.end();
      throw toOutboundError(error, watch.signal, 'asking');
    }
  }

  private async follow(request: OutboundRequest, limits: OutboundLimits, watch: OutboundWatch) {
    let hop = toHop(request, this.readUrl(request.url, request.hosts));
    for (let left = limits.maxRedirects; ; left--) {
      const answer = await this.ask(hop, watch);
      const location = isRedirect(answer.statusCode) ? answer.headers['location'] : undefined;
      if (typeof location !== 'string' || limits.maxRedirects === 0) return { hop, answer };
      answer.body.on('error', () => undefined).destroy();
      if (left === 0) throw redirectRefused('more often than allowed');
      const url = URL.parse(location, hop.url.href);
      if (url === null) throw responseBroken();
      hop = nextHop(hop, answer.statusCode, this.readUrl(url, request.hosts));
    }
  }

  private async ask(hop: Hop, watch: OutboundWatch): Promise<Dispatcher.ResponseData> {
    watch.asked();
    const { origin, pathname, search } = hop.url;
    const answer = await this.agent.request({
      origin,
      path: pathname + search,
      method: hop.method,
      headers: hop.headers,
      body: hop.body,
      signal: watch.signal,
    });
    watch.heard();
    return answer;
  }
}

/** Headers about the encoding on the connection. They do not apply to the decoded body that callers get. */
const OF_THE_WIRE = new Set(['content-encoding', 'content-length', 'transfer-encoding', 'connection', 'keep-alive']);

function headersOf(answer: Dispatcher.ResponseData): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(answer.headers)) {
    if (OF_THE_WIRE.has(name)) continue;
    for (const one of Array.isArray(value) ? value : [value ?? '']) headers.append(name, one);
  }
  return headers;
}

async function readAll({ body, maxBytes }: OpenAnswer): Promise<Pick<OutboundResponse, 'body' | 'isCut'>> {
  const pieces: Buffer[] = [];
  let left = maxBytes ?? Infinity;
  try {
    // the stream has no encoding, so its chunks are Buffers
    for await (const piece of body as AsyncIterable<Buffer>) {
      pieces.push(piece.subarray(0, left));
      left -= piece.length;
      if (left < 0) break;
    }
  } catch (error) {
    if (!(error instanceof OutboundError) || error.code !== 'outbound_too_large') throw error;
    left = -1;
  }
  return { body: Buffer.concat(pieces), isCut: left < 0 };
}

function toResponse({ hop, answer, body, maxBytes }: OpenAnswer): Response {
  const status = answer.statusCode;
  const hasBody = hop.method !== 'HEAD' && status !== 204 && status !== 205 && status !== 304;
  if (!hasBody) body.destroy();
  // Response accepts Node's web stream; only the names of the two type declarations differ
  const stream = hasBody ? (Readable.toWeb(body) as unknown as ReadableStream<Uint8Array>) : null;
  const bounded = stream?.pipeThrough(bounding(maxBytes ?? Infinity)) ?? null;
  const response = new Response(bounded, { status, headers: headersOf(answer) });
  return Object.defineProperty(response, 'url', { value: hop.url.href });
}

function bounding(maxBytes: number): TransformStream<Uint8Array, Uint8Array> {
  let left = maxBytes;
  return new TransformStream({
    transform(piece, controller) {
      left -= piece.length;
      if (left < 0) throw responseTooLarge('answer');
      controller.enqueue(piece);
    },
  });
}

/** The timeouts of one exchange and the caller's abort, as one signal. Its reason names the one that fired. */
export class OutboundWatch {
  private readonly controller = new AbortController();
  private readonly timers = new Map<OutboundStage, Timer>();
  private readonly onStop = (): void => {
    this.controller.abort(this.outer?.reason);
  };

  constructor(
    private readonly clock: Clock,
    private readonly limits: OutboundLimits,
    private readonly outer: AbortSignal | undefined,
  ) {
    if (outer?.aborted === true) this.onStop();
    else outer?.addEventListener('abort', this.onStop, { once: true });
    this.arm('total', limits.totalMs);
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Call it when a request is sent. */
  asked(): void {
    this.arm('first_byte', this.limits.firstByteMs);
  }

  /** Call it when headers or a piece of the body arrive. */
  heard(): void {
    this.timers.get('first_byte')?.cancel();
    this.arm('idle', this.limits.idleMs);
  }

  /** Call it at the end of the exchange; it cancels all timers. Idempotent. */
  end(): void {
    this.outer?.removeEventListener('abort', this.onStop);
    for (const timer of this.timers.values()) timer.cancel();
    this.timers.clear();
  }

  private arm(stage: OutboundStage, limitMs: number | null): void {
    this.timers.get(stage)?.cancel();
    if (limitMs === null || this.signal.aborted) return;
    const timer = this.clock.after(limitMs, () => {
      this.controller.abort(outboundTimedOut(stage, limitMs));
    });
    this.timers.set(stage, timer);
  }
}
