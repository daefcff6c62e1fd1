import type { IncomingMessage } from 'node:http';

import type { WebSocket } from 'ws';

import type { CloseReason } from '#platform/api';

import type { Entrance } from '../context-factory.js';
import type { ResultSlots } from './result-slots.js';
import type { SocketOutlet } from './socket-outlet.js';

/** Close codes of graphql-transport-ws (44xx) and of RFC 6455 (10xx). */
export const closeCodes = {
  invalid: 4400,
  unauthenticated: 4401,
  forbidden: 4403,
  tooMany: 4429,
  goingAway: 1001,
  unavailable: 1013,
} as const;

/** The state of one connection, which graphql-ws carries as `extra`. */
export interface SocketSession {
  readonly socket: WebSocket;
  readonly request: IncomingMessage;
  readonly id: string;
  readonly outlet: SocketOutlet;
  readonly slots: ResultSlots;
  /** The protocol calls it once it has accepted `connection_init`. */
  readonly admit: () => void;
  /** Set once `connection_init` is accepted. */
  who?: Entrance;
  /** Releases the connection's slot among those of its user, and stops the watch of its credentials. */
  leave?: () => void;
}

/** Closes a connection with the code that tells the viewer what to do. */
export function closeFor(socket: WebSocket, reason: CloseReason): void {
  switch (reason) {
    case 'token_expired':
      socket.close(closeCodes.unauthenticated, 'Token expired');
      return;
    case 'unauthorized':
      socket.close(closeCodes.forbidden, 'Forbidden');
      return;
    case 'slow_viewer':
      socket.terminate();
      return;
    case 'shutdown':
      socket.close(closeCodes.goingAway, 'Going away, try again');
      return;
  }
}
