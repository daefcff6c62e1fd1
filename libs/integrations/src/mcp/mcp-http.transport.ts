import {
  type FetchLike,
  isJSONRPCRequest,
  type JSONRPCMessage,
  type JSONRPCRequest,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { LRUCache } from 'lru-cache';

import { JsonScan, OutboundError, systemClock } from '#platform';

/** A call in flight. */
export interface CallInFlight {
  /** Ends the request when it is aborted. The server was notified before. */
  readonly signal: AbortSignal;
}

/** The address of a server, and the headers and fetch function of its requests. */
export interface McpHttpPlace {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: FetchLike;
}

/** JSON-RPC code of an error response that this transport makes if a stream ends without a response; from the range for implementations. */
export const BROKEN_OFF = -32_099;
/** JSON-RPC code of the error response for a response that exceeds a limit. Another attempt would fail, too. */
export const TOO_LARGE = -32_098;

const GOODBYE_MS = 1_000;
const MAX_REQUESTS = 1_000;

/**
 * Limits of a message. The client checks each entry of a list, such as `result.content`, against schemas: 5,000 wrong entries block the
 * process for 0.2 s. Such lists, with their entries, are in the outer four levels (in a batch, only the lists); data and JSON Schemas are deeper.
 */
const MESSAGE_LIMITS = { depth: 200, tokens: 250_000, outer: { depth: 4, tokens: 10_000 } };

/**
 * The official client's transport over streamable HTTP, with two additions: a request whose stream ends without a response fails at once
 * instead of after its timeout; and an aborted call ends its own HTTP request, even for servers of 2025, which only get a notification about
 * it. Finds calls by their idempotency key.
 */
export class McpHttpTransport extends StreamableHTTPClientTransport {
  /** Ends the HTTP requests of a JSON-RPC request, also those that resume its stream. Only the most recent requests can be in flight. */
  private readonly stops = new LRUCache<JSONRPCRequest['id'], AbortController>({ max: MAX_REQUESTS });

  private constructor(
    place: McpHttpPlace,
    private readonly calls: ReadonlyMap<string, CallInFlight>,
    fetch: FetchLike,
  ) {
    super(new URL(place.url), {
      requestInit: { headers: { ...place.headers } },
      fetch,
      redirectPolicy: 'same-origin',
      onInsufficientScope: 'throw',
    });
  }

  /** Opens no connection yet. `calls` is searched by the header `Idempotency-Key` of each request. */
  static to(place: McpHttpPlace, calls: ReadonlyMap<string, CallInFlight>): McpHttpTransport {
    const fetch = watched(place.fetch, (id, { message }) => {
      transport.onmessage?.({ jsonrpc: '2.0', id, error: { code: TOO_LARGE, message } });
      transport.stops.get(id)?.abort();
    });
    const transport: McpHttpTransport = new McpHttpTransport(place, calls, fetch);
    return transport;
  }

  /** Notifies a server of 2025 of the end of the session, and waits for at most a second. */
  override async close(): Promise<void> {
    const ended = this.terminateSession().catch(() => undefined);
    await new Promise<void>((resolve) => {
      const timer = systemClock.after(GOODBYE_MS, resolve);
      void ended.then(() => {
        timer.cancel();
        resolve();
      });
    });
    await super.close();
  }

  override send(message: JSONRPCMessage | JSONRPCMessage[], options: SendOptions = {}): Promise<void> {
    // Requests with a text id are the client's own subscriptions, which handle the end of their stream themselves.
    if (Array.isArray(message) || !isJSONRPCRequest(message) || typeof message.id !== 'number') {
      return super.send(message, options);
    }
    const given = options.requestSignal ?? this.calls.get(options.headers?.[KEY_HEADER] ?? '')?.signal;
    const stop = new AbortController();
    this.stops.set(message.id, stop);
    return super.send(message, {
      ...options,
      requestSignal: given === undefined ? stop.signal : AbortSignal.any([given, stop.signal]),
      onRequestStreamEnd: () => {
        this.onmessage?.(brokenOff(message));
      },
    });
  }
}

type SendOptions = NonNullable<Parameters<StreamableHTTPClientTransport['send']>[1]>;

/** The header with the idempotency key of a call. */
export const KEY_HEADER = 'Idempotency-Key';

/** An error response to a request. The transport ignores it if the request already has a response. */
function brokenOff({ id }: JSONRPCRequest): JSONRPCMessage {
  return { jsonrpc: '2.0', id, error: { code: BROKEN_OFF, message: 'The connection broke off.' } };
}

/**
 * Before the client parses a response that is too large, calls `refuse` with the id of the request. Otherwise the client only detects that an
 * event stream has ended, and connects again. The client reads only the status of a failed response.
 */
function watched(fetch: FetchLike, refuse: (id: JSONRPCRequest['id'], error: OutboundError) => void): FetchLike {
  return async (url, init) => {
    const response = await fetch(url, init);
    if (response.body === null || !response.ok) return response;
    const { status, headers } = response;
    const type = headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase();
    // The client reads every response to a GET as an event stream.
    const messages = new MessageScan(type === 'text/event-stream' || init?.method === 'GET');
    const tooLarge = (error: OutboundError) => {
      const id = requestIdIn(init?.body);
      if (id !== undefined) refuse(id, error);
    };
    return new Response(observed(response.body, { tooLarge, messages }), { status, headers });
  };
}

/** The id of the request in the body of a POST. */
function requestIdIn(body: unknown): JSONRPCRequest['id'] | undefined {
  if (typeof body !== 'string') return undefined;
  const message: unknown = JSON.parse(body); // the client has written it
  return isJSONRPCRequest(message) ? message.id : undefined;
}

/**
 * Scans the messages of a response: one JSON text, or those of an event stream, which end at an empty line. A line ends with CR, LF or both
 * (HTML Standard, section 9.2.6). Only the field `data` contains a part of a message.
 */
export class MessageScan {
  private scan = new JsonScan(MESSAGE_LIMITS);
  /** Bytes of the current line so far. */
  private lineBytes = 0;
  /** The beginning of the current line of a stream, as long as it may be the name of a field. */
  private name = '';
  private isFirstLine = true;
  private isAfterCr = false;

  constructor(private readonly isStream: boolean) {}

  /** Throws `outbound_too_large`. Linear in the bytes. */
  push(bytes: Uint8Array): void {
    let start = 0;
    for (let at = 0; this.isStream && at < bytes.length; at++) {
      const byte = bytes[at];
      const isSecondHalf = byte === LF && this.isAfterCr;
      this.isAfterCr = byte === CR;
      if (byte !== LF && byte !== CR) continue;
      if (!isSecondHalf) this.endLine(bytes.subarray(start, at));
      start = at + 1;
    }
    this.add(bytes.subarray(start));
  }

  private endLine(rest: Uint8Array): void {
    this.add(rest);
    if (this.lineBytes === 0) this.scan = new JsonScan(MESSAGE_LIMITS);
    this.scan.endLine();
    this.lineBytes = 0;
    this.name = '';
    this.isFirstLine = false;
  }

  private add(bytes: Uint8Array): void {
    this.lineBytes += bytes.length;
    const exceeded = this.scan.push(this.isStream ? this.dataOf(bytes) : bytes);
    if (exceeded === null) return;
    const message = `The server's response is larger than allowed: a message has more than ${limitTexts[exceeded]}.`;
    throw new OutboundError({ code: 'outbound_too_large', message });
  }

  /** The bytes that belong to the value of a field `data`. */
  private dataOf(bytes: Uint8Array): Uint8Array {
    const first = this.name === '' ? bytes[0] : this.name.charCodeAt(0);
    const begin = this.isFirstLine && first === BOM.charCodeAt(0) ? BOM.length + DATA.length : DATA.length;
    const taken = bytes.subarray(0, begin - this.name.length);
    this.name += Buffer.from(taken).toString('latin1');
    const isData = this.name === DATA || this.name === BOM + DATA;
    return isData ? bytes.subarray(taken.length) : NO_BYTES;
  }
}

const NO_BYTES = new Uint8Array();

/** The name of the only field that contains a part of a message, and the byte order mark that a stream may begin with. */
const [DATA, BOM] = ['data:', '\xef\xbb\xbf'];

const { depth, tokens, outer } = MESSAGE_LIMITS;
const limitTexts = {
  depth: `${depth} levels`,
  tokens: `${tokens} JSON tokens`,
  outer: `${outer.tokens} JSON tokens in its outer ${outer.depth} levels`,
};

const LF = 0x0a;
const CR = 0x0d;

interface Observer {
  readonly tooLarge: (error: OutboundError) => void;
  readonly messages: MessageScan;
}

function observed(body: ReadableStream<Uint8Array>, { tooLarge, messages }: Observer): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      try {
        const { done, value } = await reader.read();
        if (done) controller.close();
        else {
          messages.push(value);
          controller.enqueue(value);
        }
      } catch (error) {
        if (error instanceof OutboundError && error.code === 'outbound_too_large') tooLarge(error);
        controller.error(error);
        await reader.cancel(error).catch(() => undefined);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
