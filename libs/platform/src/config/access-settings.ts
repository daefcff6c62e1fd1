import { z } from 'zod';

import { httpUrl, isHostName, isOrigin, list, ms, secret, text, whole } from './setting-kinds.js';

const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'] as const;

/** Settings of who may send requests to the api, and of what kind. */
export const accessSettings = {
  ALLOWED_ORIGINS: list(
    'origins such as https://app.example.com',
    isOrigin,
    'Web pages on these origins may call every API and open WebSockets.',
  ),
  ALLOWED_HOSTS: list(
    'host names',
    isHostName,
    'Names in the Host header that the api answers to, besides localhost and addresses. Empty: any, unless HOST is a loopback address.',
  ),
  METRICS_TOKEN: secret(
    'Serves /metrics of the api to requests with this bearer token; without it, the api has no /metrics.',
  ),
  MAX_BODY_TOKENS: whole(
    [100_000, 1_000, 10_000_000],
    'JSON tokens (texts, arrays, objects, commas, colons) of a request body.',
  ),
  BODY_TIMEOUT_MS: ms(
    [60_000, 100],
    'How long a request body may take to arrive; ten seconds without a byte end it too.',
  ),
  JWT_SECRET: secret('Verifies HS256 tokens.'),
  JWT_JWKS_URL: httpUrl('Verifies tokens with the keys published there.'),
  JWT_ALGORITHMS: z
    .string()
    .default('RS256,ES256,EdDSA')
    .transform((list) => list.split(',').map((name) => name.trim()))
    .pipe(z.array(z.enum(algorithms)).min(1))
    .meta({
      allowed: `a list with commas of ${algorithms.join(', ')}`,
      fallback: 'RS256,ES256,EdDSA',
      description: 'Algorithms accepted from JWT_JWKS_URL (RFC 8725, section 3.1).',
    }),
  JWT_ISSUER: text('Required `iss` of a token.'),
  JWT_AUDIENCE: text('Required `aud` of a token.'),
};
