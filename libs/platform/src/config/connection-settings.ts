import { flag, ms, whole } from './setting-kinds.js';

/** What live connections may take and do. */
export const connectionSettings = {
  SOCKETS_PENDING: whole(
    [500, 1, 100_000],
    'WebSockets of a process without an accepted connection_init; a further one ends the oldest, at most as many times a second; others get 503.',
  ),
  GRAPHQL_INTROSPECTION: flag(true, 'Signed-in callers may ask GraphQL for its schema (`__schema`, `__type`).'),
  SLOW_VIEWER_BYTES: whole([262_144, 1_024, 1_073_741_824], 'Unsent bytes at which a viewer is waited for.'),
  SLOW_VIEWERS_BYTES: whole([2 ** 26, 2 ** 20, 2 ** 34], 'The same of all; over it the slowest is disconnected.'),
  SLOW_VIEWER_MS: ms([30_000], 'How long it is waited for before it is disconnected.'),
};
