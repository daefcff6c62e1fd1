import { hostRefused, portRefused, urlRefused } from './outbound.errors.js';

const LONGEST_URL = 8_192;

/** What a URL is checked against. */
export interface UrlRules {
  /** Null: any port. */
  readonly ports: ReadonlySet<number> | null;
  /** Empty: any host. Entries as `toHostPattern` makes them. */
  readonly hosts: readonly string[];
}

/**
 * Reads a URL the WHATWG way and refuses what we never ask: other schemes than http and https, a name or password in it, a
 * port or host that is not on its list. Where it leads is decided when the connection is made. Throws `outbound_url_refused`,
 * `outbound_port_refused`, `outbound_host_refused`.
 */
export function readOutboundUrl(text: string | URL, rules: UrlRules): URL {
  const url = URL.parse(String(text));
  if (url === null || url.href.length > LONGEST_URL) throw urlRefused('This is not a URL that can be asked.');
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw urlRefused('The URL must begin with https:// or http://.');
  }
  if (url.username !== '' || url.password !== '') throw urlRefused('The URL must not hold a name or password.');
  if (rules.ports !== null && !rules.ports.has(portOf(url))) throw portRefused(portOf(url), rules.ports);
  const host = hostOf(url);
  if (!isHostAllowed(host, rules.hosts)) throw hostRefused(host);
  return url;
}

/** Whether a list of patterns lets a host through; an empty list lets all. */
export function isHostAllowed(host: string, patterns: readonly string[]): boolean {
  if (patterns.length === 0) return true;
  return patterns.some((pattern) => (pattern.startsWith('*.') ? host.endsWith(pattern.slice(1)) : host === pattern));
}

/**
 * An entry of a host list in the form in which hosts are compared (lower case, international names as `xn--`): a host, or
 * `*.` and a domain for all names below it. Null: it is neither.
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

/** The host as lists name it: without port, and without the full stop that ends an absolute name. */
function hostOf(url: URL): string {
  return url.hostname.replace(/\.$/, '');
}

function portOf(url: URL): number {
  return url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
}
