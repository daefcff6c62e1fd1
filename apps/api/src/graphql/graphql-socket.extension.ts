import type { NestExpressApplication } from '@nestjs/platform-express';

import type { ServerExtension } from '../server-extension.js';
import { GraphqlSocketDoor } from './sockets/graphql-socket.door.js';

/** Hangs GraphQL over WebSocket on the server, once the schema is complete. */
export function graphqlSockets(): ServerExtension {
  const endpoints: GraphqlSocketDoor[] = [];
  return {
    afterInit: (app: NestExpressApplication) => {
      const endpoint = app.get(GraphqlSocketDoor);
      endpoint.attach(app.getHttpServer());
      endpoints.push(endpoint);
    },
    close: async () => {
      await Promise.all(endpoints.map((endpoint) => endpoint.close()));
    },
  };
}
