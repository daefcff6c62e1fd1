import { type Config, isPublicAddress } from '#platform';

import { baseUrlInvalid } from './models.errors.js';

const ENDPOINT = '/chat/completions';

/** Reads a base URL: http or https, without credentials. Throws `invalid_base_url` (field `baseUrl`). */
export function parseBaseUrl(text: string): URL {
  const url = URL.parse(text.trim());
  if (url === null)
    throw baseUrlInvalid('The base URL is not a URL. It begins with https:// and ends before /chat/completions.');
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw baseUrlInvalid('The base URL must begin with https:// or http://.');
  if (url.username !== '' || url.password !== '')
    throw baseUrlInvalid('The base URL must not contain a name or password. Enter the key as the API key.');
  return url;
}

/** Where chat completions are requested. A query (Azure's `api-version`) is kept, and so is a path that already ends with the endpoint. */
export function toChatCompletionsUrl(baseUrl: string): { readonly origin: string; readonly path: string } {
  const url = parseBaseUrl(baseUrl);
  const folder = url.pathname.replace(/\/+$/, '');
  return { origin: url.origin, path: `${folder.endsWith(ENDPOINT) ? folder : folder + ENDPOINT}${url.search}` };
}

/** Whether workspaces may use private addresses as base URLs: in development only, and only when the operator allows it. */
export function arePrivateUrlsAllowed(config: Config): boolean {
  return config.values.ALLOW_PRIVATE_MODEL_URLS && config.values.NODE_ENV !== 'production';
}

/**
 * Rejects a non-public address early, with a readable error: `invalid_base_url`. The connection would refuse it later. A host name may still resolve
 * to a private address; only the guarded agent can detect that.
 */
export function assertBaseUrlAllowed(url: URL, config: Config): void {
  if (arePrivateUrlsAllowed(config)) return;
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  const isAddress = host.includes(':') || /^[\d.]+$/.test(host);
  if (host === 'localhost' || host.endsWith('.localhost') || (isAddress && !isPublicAddress(host))) {
    throw baseUrlInvalid('The base URL must point to a public address.');
  }
}
