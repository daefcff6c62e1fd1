import type { NestExpressApplication } from '@nestjs/platform-express';

import type { ServerExtension } from '../server-extension.js';
import { GraphqlSocketDoor } from './sockets/graphql-socket.door.js';

/** Hangs GraphQL over WebSocket on the server, once the schema is complete. */
export function graphqlSockets(): ServerExtension {
  const doors: GraphqlSocketDoor[] = [];
  return {
    afterInit: (app: NestExpressApplication) => {
      const door = app.get(GraphqlSocketDoor);
      door.attach(app.getHttpServer());
      doors.push(door);
    },
    close: async () => {
      await Promise.all(doors.map((door) => door.close()));
    },
  };
}
