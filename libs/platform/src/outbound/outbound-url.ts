import { hostRefused, portRefused, urlRefused } from './outbound.errors.js';

const MAX_URL_LENGTH = 8_192;

/** The rules for a URL. */
export interface UrlRules {
  /** Null: any port. */
  readonly ports: ReadonlySet<number> | null;
  /** Empty: any host. The entries have the format of `toHostPattern`. */
  readonly hosts: readonly string[];
}

/**
 * Parses a URL (WHATWG) and rejects schemes other than http and https, a user name or password, and a port or host that is not allowed. The
 * addresses are checked when the connection is made. Throws `outbound_url_refused`, `outbound_port_refused`, `outbound_host_refused`.
 */
export function readOutboundUrl(text: string | URL, rules: UrlRules): URL {
  const url = URL.parse(String(text));
  if (url === null || url.href.length > MAX_URL_LENGTH) throw urlRefused('This is not a valid URL.');
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw urlRefused('The URL must begin with https:// or http://.');
  }
  if (url.username !== '' || url.password !== '') throw urlRefused('The URL must not contain a user name or password.');
  if (rules.ports !== null && !rules.ports.has(portOf(url))) throw portRefused(portOf(url), rules.ports);
  const host = hostOf(url);
  if (!isHostAllowed(host, rules.hosts)) throw hostRefused(host);
  return url;
}

/** Whether a list of patterns allows a host; an empty list allows all. */
export function isHostAllowed(host: string, patterns: readonly string[]): boolean {
  if (patterns.length === 0) return true;
  return patterns.some((pattern) => (pattern.startsWith('*.') ? host.endsWith(pattern.slice(1)) : host === pattern));
}

/**
 * Normalizes an entry of a host list (lower case, international names as `xn--`): a host, or `*.` and a domain for all names below it.
 * Returns null for an invalid entry.
 */
export function toHostPattern(text: string): string | null {
  const trimmed = text.trim();
  const isWild = trimmed.startsWith('*.');
  const name = isWild ? trimmed.slice(2) : trimmed;
  if (name === '' || /[\s/\\?#@*:]/.test(name.replace(/^\[[\da-f:.]+\]$/i, ''))) return null;
  const url = URL.parse(`http://${name}`);
  if (url === null || url.pathname !== '/' || url.hostname.length > 253) return null;
  const host = hostOf(url);
  return isWild ? (/^[\d.]+$|^\[/.test(host) ? null : `*.${host}`) : host;
}

/** The host in the format of lists: without port, and without the final dot of an absolute name. */
function hostOf(url: URL): string {
  return url.hostname.replace(/\.$/, '');
}

function portOf(url: URL): number {
  return url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
}
