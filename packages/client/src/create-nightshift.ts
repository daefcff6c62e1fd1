import type { BackOffOptions } from './back-off.js';
import { Credentials, type TokenSource } from './credentials.js';
import { HttpTransport } from './http-transport.js';
import { Nightshift } from './nightshift.js';
import { randomText } from './random-text.js';
import { SocketTransport, type WebSocketClass } from './socket-transport.js';

/** The server, the credential, and replacements for parts of the runtime. */
export type NightshiftOptions = TokenSource & {
  /** Base URL of the server, such as `http://127.0.0.1:4000`. */
  readonly url: string;
  /** The workspace to enter; required for the token of a user of several workspaces. */
  readonly workspace?: string | undefined;
  /** Identifies this device for client tools: a text that the application creates once and stores. By default each client has a new one. */
  readonly deviceId?: string | undefined;
  /** Delays between attempts to reconnect. Without `attempts` the client never gives up. */
  readonly reconnect?: BackOffOptions | undefined;
  readonly timeouts?: Timeouts | undefined;
  /** Replaces the `fetch` of the runtime. */
  readonly fetch?: typeof fetch | undefined;
  /**
   * Replaces the `WebSocket` of the runtime. Node 20 has none: pass that of the package `ws`; otherwise the client starts no job. `null`:
   * the application never follows a job, so starts need no WebSocket.
   */
  readonly webSocket?: WebSocketClass | null | undefined;
};

/** All values are in ms. */
export interface Timeouts {
  /** How long a request may take. 30,000 by default. */
  readonly requestMs?: number | undefined;
  /** How long an upload or a download of a file may take. 300,000 by default. */
  readonly transferMs?: number | undefined;
  /** How long a connection may be silent before it counts as lost. 15,000 by default. */
  readonly heartbeatMs?: number | undefined;
  /** How long to wait before another attempt at a call that another client has claimed: an unused claim expires. About 10,000 by default. */
  readonly claimMs?: number | undefined;
}

/**
 * Creates a client of one server. It opens no connection before the first call, and keeps one WebSocket open while a stream is followed.
 * `token` never changes. The client calls `getToken` again when the server rejects a token or the token expires.
 */
export function createNightshift(options: NightshiftOptions): Nightshift {
  const { workspace, reconnect: backOff = {}, timeouts = {} } = options;
  const { requestMs = 30_000, transferMs = 300_000, heartbeatMs = 15_000, claimMs = 10_000 } = timeouts;
  const credentials = new Credentials(options);
  const { href: url } = new URL(options.url.endsWith('/') ? options.url : `${options.url}/`);
  const shared = { credentials, workspace };
  // Browsers require that `fetch` is called on the window.
  const fetch = options.fetch ?? ((...asked: Parameters<typeof globalThis.fetch>) => globalThis.fetch(...asked));
  const runtime: { readonly WebSocket?: WebSocketClass } = globalThis;
  const { webSocket = runtime.WebSocket } = options;
  const closing = new AbortController();
  return new Nightshift(
    {
      http: new HttpTransport({ ...shared, url, fetch, timeoutMs: requestMs, backOff }),
      sockets: new SocketTransport({ ...shared, url: new URL('graphql', url).href, webSocket, heartbeatMs }),
      backOff,
      transferMs,
      claimMs,
      deviceId: options.deviceId ?? randomText(),
      serving: new Map(),
      closing: closing.signal,
    },
    closing,
  );
}
