import { graphqlSockets } from './graphql/graphql-socket.extension.js';
import type { ServerExtension } from './server-extension.js';

/** What `startApi` attaches to its server, in this order. */
export const serverExtensions: readonly (() => ServerExtension)[] = [graphqlSockets];
