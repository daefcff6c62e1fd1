import { flag, ms, text, whole } from './setting-kinds.js';

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
