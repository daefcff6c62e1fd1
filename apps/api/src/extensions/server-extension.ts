import type { NestExpressApplication } from '@nestjs/platform-express';

/** A protocol on the HTTP server beside Nest's routes, such as GraphQL over WebSocket. Created once for each server. */
export interface ServerExtension {
  /** Runs before Nest registers its routes, for Express handlers that must come first. */
  beforeInit?(app: NestExpressApplication): void;
  /** Runs when the application is complete and does not listen yet, for the schema and upgrade handlers. */
  afterInit?(app: NestExpressApplication): void | Promise<void>;
  /** Ends all open connections, spread over a short time, so that clients do not all reconnect at once. */
  close?(): Promise<void>;
}
