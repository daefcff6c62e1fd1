import { type Config, isPublicAddress } from '#platform';

import { baseUrlInvalid } from './models.errors.js';

const ENDPOINT = '/chat/completions';

/** Reads a base URL: http or https, no credentials in it. Throws `invalid_base_url` (field `baseUrl`). */
export function parseBaseUrl(text: string): URL {
  const url = URL.parse(text.trim());
  if (url === null)
    throw baseUrlInvalid('The base URL is not a URL. It begins with https:// and ends before /chat/completions.');
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw baseUrlInvalid('The base URL must begin with https:// or http://.');
  if (url.username !== '' || url.password !== '')
    throw baseUrlInvalid('The base URL must not hold a name or password. Enter the key as the API key.');
  return url;
}

/** Where chat completions are asked for. A query (Azure's `api-version`) is kept, and a URL that names the endpoint is taken as it is. */
export function toChatCompletionsUrl(baseUrl: string): { readonly origin: string; readonly path: string } {
  const url = parseBaseUrl(baseUrl);
  const folder = url.pathname.replace(/\/+$/, '');
  return { origin: url.origin, path: `${folder.endsWith(ENDPOINT) ? folder : folder + ENDPOINT}${url.search}` };
}

/** Whether workspaces may name private addresses as base URLs: development only, and only when the operator says so. */
export function arePrivateUrlsAllowed(config: Config): boolean {
  return config.values.ALLOW_PRIVATE_MODEL_URLS && config.values.NODE_ENV !== 'production';
}

/**
 * Says early, and for people, what the connection would refuse anyway: `invalid_base_url` for an address that is not public.
 * A name may still turn out to point to one; only the guarded agent can tell.
 */
export function assertBaseUrlAllowed(url: URL, config: Config): void {
  if (arePrivateUrlsAllowed(config)) return;
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  const isAddress = host.includes(':') || /^[\d.]+$/.test(host);
  if (host === 'localhost' || host.endsWith('.localhost') || (isAddress && !isPublicAddress(host))) {
    throw baseUrlInvalid('The base URL must point to a public address.');
  }
}
