import {
  type FetchLike,
  isJSONRPCRequest,
  type JSONRPCMessage,
  type JSONRPCRequest,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';

import { defined, OutboundError, systemClock } from '#platform';

/** A call on its way. */
export interface CallInFlight {
  /** Ends its request; the server was notified before. */
  readonly signal: AbortSignal;
  /** Its answer is larger than the guard allows: to get it again would not help. */
  readonly tooLarge: (error: OutboundError) => void;
}

/** Where a server is, and what goes with each request. */
export interface McpHttpPlace {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: FetchLike;
}

/** JSON-RPC code of the answer that we make up when a server's stream ends without one; of the range left to implementations. */
export const BROKEN_OFF = -32_099;

const GOODBYE_MS = 1_000;

/**
 * Streamable HTTP as the official client speaks it, with what that one leaves out: a request whose stream ends without an answer
 * fails at once instead of waiting for its time-out, and a call that was stopped ends its own request, also towards servers
 * of 2025, which get only a notification about it. Knows calls by their idempotency key.
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

  /** Opens nothing yet. `calls` is looked up by the header `Idempotency-Key` of each request. */
  static to(place: McpHttpPlace, calls: ReadonlyMap<string, CallInFlight>): McpHttpTransport {
    return new McpHttpTransport(place, calls);
  }

  /** Notifies a server of 2025 that its session is over, but waits at most a second. */
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
    // Requests with a text for an id are the client's own subscriptions, which see to their end themselves.
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

/** The header that carries the idempotency key of a call. */
export const KEY_HEADER = 'Idempotency-Key';

/** After a request has its response, the transport no longer waits for this one. */
function brokenOff({ id }: JSONRPCRequest): JSONRPCMessage {
  return { jsonrpc: '2.0', id, error: { code: BROKEN_OFF, message: 'The connection broke off.' } };
}

/** Fails a call whose response is too large: the client only notices that the stream has ended. */
function watched(fetch: FetchLike, calls: ReadonlyMap<string, CallInFlight>): FetchLike {
  return async (url, init) => {
    const call = calls.get(new Headers(init?.headers).get(KEY_HEADER) ?? '');
    const response = await fetch(url, init);
    if (call === undefined || response.body === null) return response;
    const { status, headers } = response;
    return new Response(observed(response.body, call), { status, headers });
  };
}

function observed(body: ReadableStream<Uint8Array>, call: CallInFlight): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      try {
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        if (error instanceof OutboundError && error.code === 'outbound_too_large') call.tooLarge(error);
        controller.error(error);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
