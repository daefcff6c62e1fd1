import type { BackOffOptions } from './back-off.js';
import type { ExecuteOptions, HttpTransport, Retry } from './http-transport.js';
import type { ServeOptions } from './serve-options.js';
import type { SocketTransport } from './socket-transport.js';

/** What everything that one client hands out shares. */
export interface Connection {
  readonly http: HttpTransport;
  readonly sockets: SocketTransport;
  readonly backOff: BackOffOptions;
  /** How long an upload or a download may take. */
  readonly transferMs: number;
  /** When a call that another client has claimed is tried again. */
  readonly claimMs: number;
  /** This device, for client tools. */
  readonly deviceId: string;
  /** What this client handles, by job. */
  readonly serving: Map<string, Set<ServeOptions>>;
  /** Aborts when the client is closed. */
  readonly closing: AbortSignal;
}

/** Aborts when the client is closed, or when `signal` does. */
export function until({ closing }: Pick<Connection, 'closing'>, signal?: AbortSignal): AbortSignal {
  return signal === undefined ? closing : AbortSignal.any([closing, signal]);
}

/** The terms of a request that is given up when the client is closed, or when `signal` aborts. */
export function asking(connection: Connection, signal?: AbortSignal, retry: Retry = 'briefly'): ExecuteOptions {
  return { signal: until(connection, signal), retry };
}
