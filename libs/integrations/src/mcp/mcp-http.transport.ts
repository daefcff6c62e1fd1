import {
  type FetchLike,
  isJSONRPCRequest,
  type JSONRPCMessage,
  type JSONRPCRequest,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';

import { defined, JsonScan, OutboundError, systemClock } from '#platform';

/** A call in flight. */
export interface CallInFlight {
  /** Ends the request when it is aborted. The server was notified before. */
  readonly signal: AbortSignal;
  /** Called if the response exceeds the size limit of the guard: a repetition would not help. */
  readonly tooLarge: (error: OutboundError) => void;
}

/** The address of a server, and the headers and fetch function of its requests. */
export interface McpHttpPlace {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: FetchLike;
}

/** JSON-RPC code of an error response that this transport makes if a stream ends without a response; from the range for implementations. */
export const BROKEN_OFF = -32_099;

const GOODBYE_MS = 1_000;

/** Limits of a message. The client checks each entry of a message against schemas: 50,000 wrong entries block the process for about a second. */
const MESSAGE_LIMITS = { depth: 200, tokens: 50_000 };

/**
 * The official client's transport over streamable HTTP, with two additions: a request whose stream ends without a response fails at once
 * instead of after its timeout; and an aborted call ends its own HTTP request, even for servers of 2025, which only get a notification about
 * it. Finds calls by their idempotency key.
 */
export class McpHttpTransport extends StreamableHTTPClientTransport {
  private constructor(
    place: McpHttpPlace,
    private readonly calls: ReadonlyMap<string, CallInFlight>,
  ) {
    super(new URL(place.url), {
      requestInit: { headers: { ...place.headers } },
      fetch: watched(place.fetch, calls),
      redirectPolicy: 'same-origin',
      onInsufficientScope: 'throw',
    });
  }

  /** Opens no connection yet. `calls` is searched by the header `Idempotency-Key` of each request. */
  static to(place: McpHttpPlace, calls: ReadonlyMap<string, CallInFlight>): McpHttpTransport {
    return new McpHttpTransport(place, calls);
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
    const requestSignal = options.requestSignal ?? this.calls.get(options.headers?.[KEY_HEADER] ?? '')?.signal;
    return super.send(message, {
      ...options,
      ...defined({ requestSignal }),
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
 * Fails a request whose response is too large before the client parses it. A call is also notified: without this, the client only detects that
 * the stream has ended.
 */
function watched(fetch: FetchLike, calls: ReadonlyMap<string, CallInFlight>): FetchLike {
  return async (url, init) => {
    const call = calls.get(new Headers(init?.headers).get(KEY_HEADER) ?? '');
    const response = await fetch(url, init);
    if (response.body === null) return response;
    const { status, headers } = response;
    const isStream = headers.get('content-type')?.includes('text/event-stream') === true;
    return new Response(observed(response.body, { call, messages: new MessageScan(isStream) }), { status, headers });
  };
}

/**
 * Scans the messages of a response: one JSON text, or those of an event stream, which end at an empty line. A line ends with CR, LF or both
 * (HTML Standard, section 9.2.6).
 */
export class MessageScan {
  private scan = new JsonScan(MESSAGE_LIMITS);
  /** Bytes of the current line so far. */
  private lineBytes = 0;
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
  }

  private add(bytes: Uint8Array): void {
    this.lineBytes += bytes.length;
    if (this.scan.push(bytes) === null) return;
    const { depth, tokens } = MESSAGE_LIMITS;
    const message = `The server's response is larger than allowed: a message has more than ${tokens} JSON tokens or ${depth} levels.`;
    throw new OutboundError({ code: 'outbound_too_large', message });
  }
}

const LF = 0x0a;
const CR = 0x0d;

interface Observer {
  readonly call: CallInFlight | undefined;
  readonly messages: MessageScan;
}

function observed(body: ReadableStream<Uint8Array>, { call, messages }: Observer): ReadableStream<Uint8Array> {
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
        if (error instanceof OutboundError && error.code === 'outbound_too_large') call?.tooLarge(error);
        controller.error(error);
        await reader.cancel(error).catch(() => undefined);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
