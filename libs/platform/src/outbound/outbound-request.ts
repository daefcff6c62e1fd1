import { redirectRefused, requestInvalid } from './outbound.errors.js';

/** Limits of one request. Null: no limit. Times are in ms. */
export interface OutboundLimits {
  /** Bytes of the response body, both as sent and after decompression. */
  readonly maxBytes: number | null;
  /** Time until the headers of a response, for each redirect. */
  readonly firstByteMs: number | null;
  /** Maximum pause within a body. */
  readonly idleMs: number | null;
  /** Time of the whole exchange, including redirects. */
  readonly totalMs: number | null;
  /** Maximum number of redirects; 0: a redirect is an ordinary response. */
  readonly maxRedirects: number;
}

/** One request to a server whose address a user chose. */
export interface OutboundRequest {
  /** Default GET. */
  readonly method?: string;
  readonly url: string | URL;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** When it is aborted, the request rejects with its reason. */
  readonly signal?: AbortSignal;
  /** The workspace's list of allowed hosts; empty or absent: any public host. */
  readonly hosts?: readonly string[];
  readonly limits?: Partial<OutboundLimits>;
}

/** The request that is sent for one hop. */
export interface Hop {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | null;
}

/** Headers of the connection, and headers that the client sets itself. */
const OURS = new Set([
  'host', 'connection', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'content-length', 'expect',
  'proxy-authorization', 'proxy-connection', 'accept-encoding',
]); // prettier-ignore

/** Headers that are sent to another origin after a redirect: only those that are known to contain no secrets. */
const HARMLESS = new Set(['accept', 'accept-encoding', 'accept-language', 'user-agent', 'content-type']);

/** Whether a request may set this header. */
export function isOwnHeader(name: string): boolean {
  return OURS.has(name.toLowerCase());
}

/** The first hop. Throws `outbound_request_invalid`. */
export function toHop(request: OutboundRequest, url: URL): Hop {
  const method = (request.method ?? 'GET').toUpperCase();
  if (!/^[A-Z]{1,16}$/.test(method) || method === 'CONNECT' || method === 'TRACE') throw requestInvalid();
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers ?? {})) {
    if (!/^[!#$%&'*+.^_`|~\dA-Za-z-]+$/.test(name) || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) throw requestInvalid();
    if (!isOwnHeader(name)) headers[name.toLowerCase()] = value;
  }
  headers['user-agent'] ??= 'nightshift';
  headers['accept'] ??= '*/*';
  headers['accept-encoding'] = 'gzip, br';
  return { method, url, headers, body: request.body ?? null };
}

/** Whether a response is a redirect (RFC 9110, 15.4). */
export function isRedirect(status: number): boolean {
  return status === 301 || status === 302 || status === 303 || status === 307 || status === 308;
}

/**
 * The hop after a redirect, as in fetch (303, and 301 and 302 after POST, become GET), with two restrictions: on another origin only harmless
 * headers are sent, and a body is never sent to another origin (`outbound_redirect_refused`). The caller has checked `url`.
 */
export function nextHop(hop: Hop, status: number, url: URL): Hop {
  const becomesGet =
    (status === 303 && hop.method !== 'HEAD') || ((status === 301 || status === 302) && hop.method === 'POST');
  const isElsewhere = url.origin !== hop.url.origin;
  if (!becomesGet && hop.body !== null && isElsewhere) throw redirectRefused('and a body is sent to no other host');
  const kept = Object.entries(hop.headers).filter(
    ([name]) => (!isElsewhere || HARMLESS.has(name)) && !(becomesGet && name.startsWith('content-')),
  );
  const headers = Object.fromEntries(kept);
  return becomesGet ? { method: 'GET', url, headers, body: null } : { ...hop, url, headers };
}
