import { z } from 'zod';

import { flag, httpUrl, isHostName, isNetwork, isOrigin, list, ms, secret, text, whole } from './setting-kinds.js';

/** Limits of live connections. */
export const connectionSettings = {
  SOCKETS_PENDING: whole(
    [500, 1, 100_000],
    'Maximum WebSockets of a process without an accepted connection_init. A further one waits for its turn and closes the oldest; when as many wait, or half as many of its address, it gets 503. While half as many of one address wait, the process reads new connections of that address one by one.',
  ),
  REFUSALS_PER_SECOND: whole(
    [20, 1, 1_000_000],
    'Refused requests without a valid credential that one address may send a second. Responses beyond it leave after a second; a process delays at most 500 and closes the other connections.',
  ),
  GRAPHQL_INTROSPECTION: flag(true, 'Authenticated callers may introspect the GraphQL schema (`__schema`, `__type`).'),
  GRAPHQL_EXPLORER: flag(
    true,
    'Browsers that open /graphql get an explorer (GraphiQL). Its requests need a credential.',
  ),
  GRAPHQL_ALLOWED_OPERATIONS: text(
    'File of the only GraphQL operations that the API runs (docs/clients.md): GraphQL text, an Apollo manifest, or a JSON object of documents by id.',
  ),
  SLOW_VIEWER_BYTES: whole(
    [262_144, 1_024, 1_073_741_824],
    'Unsent bytes of a viewer at which the API stops sending until the viewer reads.',
  ),
  SLOW_VIEWERS_BYTES: whole(
    [2 ** 26, 2 ** 20, 2 ** 34],
    'Unsent bytes of all slow viewers of a process; over it, the slowest is disconnected.',
  ),
  SLOW_VIEWER_MS: ms([30_000], 'How long the API waits for a slow viewer before it disconnects it.'),
};

const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'] as const;

/** Settings that decide which requests the API accepts. */
export const accessSettings = {
  ALLOWED_ORIGINS: list(
    'origins such as https://app.example.com',
    isOrigin,
    'Web pages on these origins may call every API and open WebSockets.',
  ),
  ALLOWED_HOSTS: list(
    'host names',
    isHostName,
    'Host names that the API accepts in the Host header, besides localhost and IP addresses. Empty: any, unless HOST is a loopback address.',
  ),
  TRUSTED_PROXIES: list(
    'IP addresses and networks such as 10.0.0.0/8',
    isNetwork,
    'Reverse proxies in front of the API. Requests from them are counted by the client address in X-Forwarded-For; the header of any other peer is ignored.',
  ),
  METRICS_TOKEN: secret('Bearer token that /metrics of the API requires. Without it, the API has no /metrics.'),
  MAX_BODY_TOKENS: whole(
    [100_000, 1_000, 10_000_000],
    'Maximum JSON tokens (strings, arrays, objects, commas, colons) of a request body.',
  ),
  BODY_TIMEOUT_MS: ms(
    [60_000, 100],
    'How long a request body may take to arrive. Ten seconds without a byte also end it.',
  ),
  JWT_SECRET: secret('Verifies HS256 tokens.'),
  JWT_JWKS_URL: httpUrl('Verifies tokens with the keys published there.'),
  JWT_ALGORITHMS: z
    .string()
    .default('RS256,ES256,EdDSA')
    .transform((list) => list.split(',').map((name) => name.trim()))
    .pipe(z.array(z.enum(algorithms)).min(1))
    .meta({
      allowed: `a comma-separated list of ${algorithms.join(', ')}`,
      fallback: 'RS256,ES256,EdDSA',
      description: 'Algorithms accepted from JWT_JWKS_URL (RFC 8725, section 3.1).',
    }),
  JWT_ISSUER: text(
    'The issuer: `iss` of a token must equal it. Without it, any issuer is accepted; a token needs `iss` in both cases.',
  ),
  JWT_AUDIENCE: text('Required `aud` of a token.'),
};
