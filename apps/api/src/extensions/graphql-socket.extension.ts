import type { NestExpressApplication } from '@nestjs/platform-express';

import { GraphqlSocketGateway } from '../graphql/sockets/graphql-socket.gateway.js';
import type { ServerExtension } from './server-extension.js';

/** Attaches GraphQL over WebSocket to the server once the schema is complete. */
export function graphqlSockets(): ServerExtension {
  const endpoints: GraphqlSocketGateway[] = [];
  return {
    afterInit: (app: NestExpressApplication) => {
      const endpoint = app.get(GraphqlSocketGateway);
      endpoint.attach(app.getHttpServer());
      endpoints.push(endpoint);
    },
    close: async () => {
      await Promise.all(endpoints.map((endpoint) => endpoint.close()));
    },
  };
}
