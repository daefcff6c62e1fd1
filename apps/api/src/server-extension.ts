import type { NestExpressApplication } from '@nestjs/platform-express';

/** A protocol that hangs on the HTTP server beside Nest's routes, such as GraphQL over WebSocket. Made once per server. */
export interface ServerExtension {
  /** Nest's routes are not there yet: for Express handlers that must come before them. */
  beforeInit?(app: NestExpressApplication): void;
  /** The application is complete and does not listen yet: for the schema and upgrade handlers. */
  afterInit?(app: NestExpressApplication): void | Promise<void>;
  /** Ends everything open, spread over a moment, so that clients do not all come back at once. */
  close?(): Promise<void>;
}
