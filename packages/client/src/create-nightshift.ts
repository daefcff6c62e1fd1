import type { BackOffOptions } from './back-off.js';
import { Credentials, type TokenSource } from './credentials.js';
import { HttpTransport } from './http-transport.js';
import { Nightshift } from './nightshift.js';
import { randomText } from './random-text.js';
import { SocketTransport, type WebSocketClass } from './socket-transport.js';

/** Where the server is, who asks, and what the runtime lacks. */
export type NightshiftOptions = TokenSource & {
  /** Base of the server, such as `http://127.0.0.1:4000`. */
  readonly url: string;
  /** The workspace to enter, for the token of a user of several. */
  readonly workspace?: string | undefined;
  /** This device, for client tools: a text that was made up once and kept. Absent: another one for each client. */
  readonly deviceId?: string | undefined;
  /** How lost connections are taken up again. Without `attempts` it never gives up. */
  readonly reconnect?: BackOffOptions | undefined;
  readonly timeouts?: Timeouts | undefined;
  /** In place of the runtime's. */
  readonly fetch?: typeof fetch | undefined;
  /**
   * In place of the runtime's. Node 20 has none: pass that of the package `ws`, or nothing is started. `null`: nothing is going to
   * be followed, so starts need none.
   */
  readonly webSocket?: WebSocketClass | null | undefined;
};

/** All in ms. */
export interface Timeouts {
  /** How long a request may take. 30,000 by default. */
  readonly requestMs?: number | undefined;
  /** How long an upload or a download of a file may take. 300,000 by default. */
  readonly transferMs?: number | undefined;
  /** How long a silent connection is trusted. 15,000 by default. */
  readonly heartbeatMs?: number | undefined;
  /** When a call that another client has claimed is tried again, for a claim that is not used lapses. About 10,000 by default. */
  readonly claimMs?: number | undefined;
}

/**
 * A client of one server. It opens no connection before the first call, and keeps one WebSocket open while a stream is
 * followed. `token` never changes. `getToken` is called again when the server rejects a token or it expires.
 */
export function createNightshift(options: NightshiftOptions): Nightshift {
  const { workspace, reconnect: backOff = {}, timeouts = {} } = options;
  const { requestMs = 30_000, transferMs = 300_000, heartbeatMs = 15_000, claimMs = 10_000 } = timeouts;
  const credentials = new Credentials(options);
  const { href: url } = new URL(options.url.endsWith('/') ? options.url : `${options.url}/`);
  const shared = { credentials, workspace };
  // Browsers call fetch as a function of the window only.
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
