import type { IncomingMessage } from 'node:http';

import type { WebSocket } from 'ws';

import type { CloseReason } from '#platform/api';

import type { Entrance } from '../context-factory.js';
import type { ResultSlots } from './result-slots.js';
import type { SocketOutlet } from './socket-outlet.js';

/** Close codes (graphql-transport-ws, and ours in its style). */
export const closeCodes = {
  unauthenticated: 4401,
  forbidden: 4403,
  tooMany: 4429,
  goingAway: 1001,
  unavailable: 1013,
} as const;

/** What is known of one connection. graphql-ws carries it as `extra`. */
export interface SocketSession {
  readonly socket: WebSocket;
  readonly request: IncomingMessage;
  readonly id: string;
  readonly outlet: SocketOutlet;
  readonly slots: ResultSlots;
  /** To be called once `connection_init` has been accepted. */
  readonly admit: () => void;
  /** Set once `connection_init` has been accepted. */
  who?: Entrance;
  /** Frees the connection's slot among those of its principal, and the watch of its credentials. */
  leave?: () => void;
}

/** Closes a connection for a reason that a viewer can act on. */
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
