const TIME_LIMIT_MS = 5_000;

/** Fetches the key set at JWT_JWKS_URL, an address that the operator chose. Follows no redirects, and stops after 5 s. */
export function fetchKeys(url: string, init: RequestInit): Promise<Response> {
  const limit = AbortSignal.timeout(TIME_LIMIT_MS);
  const signal = init.signal == null ? limit : AbortSignal.any([init.signal, limit]);
  return fetch(url, { ...init, redirect: 'error', signal });
}
