import { redirectRefused, requestInvalid } from './outbound.errors.js';

/** Bounds of one request. Null: no bound. Times in ms. */
export interface OutboundLimits {
  /** Bytes of the answer's body, as sent and after decompression. */
  readonly maxBytes: number | null;
  /** Until the headers of an answer, each redirect included. */
  readonly firstByteMs: number | null;
  /** Longest silence within a body. */
  readonly idleMs: number | null;
  /** The whole exchange, redirects included. */
  readonly totalMs: number | null;
  /** How many redirects are followed; 0: a redirect is an answer like any other. */
  readonly maxRedirects: number;
}

/** One request to a server whose address a user chose. */
export interface OutboundRequest {
  /** GET when absent. */
  readonly method?: string;
  readonly url: string | URL;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Its abort rejects with its reason. */
  readonly signal?: AbortSignal;
  /** The workspace's list of allowed hosts; empty or absent: any public one. */
  readonly hosts?: readonly string[];
  readonly limits?: Partial<OutboundLimits>;
}

/** What goes over the wire for one hop. */
export interface Hop {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | null;
}

/** Headers that belong to the connection or are ours to set. */
const OURS = new Set([
  'host', 'connection', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'content-length', 'expect',
  'proxy-authorization', 'proxy-connection', 'accept-encoding',
]); // prettier-ignore

/** What may go along to another origin: nothing that could be a secret, so no header that is not known to be harmless. */
const HARMLESS = new Set(['accept', 'accept-encoding', 'accept-language', 'user-agent', 'content-type']);

/** Whether a request may set this header itself. */
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

/** Whether an answer sends us elsewhere (RFC 9110, 15.4). */
export function isRedirect(status: number): boolean {
  return status === 301 || status === 302 || status === 303 || status === 307 || status === 308;
}

/**
 * The hop after a redirect, as fetch would make it (303, and 301 and 302 after POST, become GET), but stricter: on another
 * origin only harmless headers go along, and a body goes nowhere but where it was sent: `outbound_redirect_refused`. `url`
 * has been checked again.
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
