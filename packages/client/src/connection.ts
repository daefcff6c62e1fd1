import type { BackOffOptions } from './back-off.js';
import type { ExecuteOptions, HttpTransport, Retry } from './http-transport.js';
import type { ServeOptions } from './serve-options.js';
import type { SocketTransport } from './socket-transport.js';

/** The state that all objects of one client share. */
export interface Connection {
  readonly http: HttpTransport;
  readonly sockets: SocketTransport;
  readonly backOff: BackOffOptions;
  /** How long an upload or a download may take. */
  readonly transferMs: number;
  /** How long to wait before another attempt at a call that another client has claimed, in ms. */
  readonly claimMs: number;
  /** Identifies this device for client tools. */
  readonly deviceId: string;
  /** The handlers of this client, by job. */
  readonly serving: Map<string, Set<ServeOptions>>;
  /** Aborts when the client is closed. */
  readonly closing: AbortSignal;
}

/** Aborts when the client is closed, or when `signal` does. */
export function until({ closing }: Pick<Connection, 'closing'>, signal?: AbortSignal): AbortSignal {
  return signal === undefined ? closing : AbortSignal.any([closing, signal]);
}

/** The options of a request that ends when the client is closed, or when `signal` aborts. */
export function asking(connection: Connection, signal?: AbortSignal, retry: Retry = 'briefly'): ExecuteOptions {
  return { signal: until(connection, signal), retry };
}
