import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';

import { Inject, Injectable } from '@nestjs/common';
import { handleProtocols, makeServer } from 'graphql-ws';
import { type WebSocket, WebSocketServer } from 'ws';

import { Config, LOGGER, type Logger, newId, systemClock, type Timer } from '#platform';

import { hostNamesOf, isKnownHost } from '../../auth/hosts.js';
import { isAllowedOrigin } from '../../auth/origins.js';
import { FrameBudget } from './frame-budget.js';
import { SocketProtocol } from './socket-protocol.js';
import { closeCodes, closeFor, type SocketSession } from './socket-session.js';

const path = '/graphql';
const maxPayload = 256 * 1024;
/** A peer that has not answered a ping until the next one is dead. */
const pingMs = 15_000;
const closePatienceMs = 2_000;
const maxJitterMs = 1_000;

/**
 * GraphQL over WebSocket (graphql-transport-ws) on the path of GraphQL over HTTP, mounted on the server by us. Frames are at
 * most 256 KB, never compressed, and counted; a page of another site is not let in.
 */
@Injectable()
export class GraphqlSocketDoor {
  private readonly sockets = new WebSocketServer({
    noServer: true,
    maxPayload,
    perMessageDeflate: false,
    handleProtocols,
  });
  private readonly silent = new WeakSet<WebSocket>();
  private pinging: Timer | undefined;

  constructor(
    private readonly protocol: SocketProtocol,
    @Inject(LOGGER) private readonly logger: Logger,
    private readonly config: Config,
  ) {}

  /** Connections that are open now. */
  get size(): number {
    return this.sockets.clients.size;
  }

  /** Serves upgrades of `server`. The schema must be complete. */
  attach(server: Server): void {
    const graphql = makeServer(this.protocol.options());
    this.sockets.on('connection', (socket: WebSocket, request: IncomingMessage) => {
      this.serve(graphql, socket, request);
    });
    server.on('upgrade', (request, socket, head) => {
      this.upgrade(request, socket, head);
    });
    this.schedulePing();
  }

  /** Ends connections whose peer has not answered the last ping (it may be gone without a word), and pings the others. */
  dropSilent(): void {
    for (const socket of this.sockets.clients) {
      if (this.silent.has(socket)) socket.terminate();
      else {
        this.silent.add(socket);
        socket.ping();
      }
    }
  }

  /** Asks every client to come back, spread over a second, and frees what is left. */
  async close(): Promise<void> {
    this.pinging?.cancel();
    this.pinging = undefined;
    const clients = [...this.sockets.clients];
    const closed = clients.map(
      (socket) =>
        new Promise<void>((resolve) =>
          socket.once('close', () => {
            resolve();
          }),
        ),
    );
    for (const socket of clients) {
      systemClock.after(Math.random() * Math.min(maxJitterMs, clients.length * 2), () => {
        closeFor(socket, 'shutdown');
      });
    }
    const impatience = setTimeout(() => {
      for (const socket of clients) socket.terminate();
    }, closePatienceMs);
    await Promise.all(closed);
    clearTimeout(impatience);
    this.sockets.close();
  }

  private upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    // A reset before anybody listens would end the process.
    socket.on('error', () => socket.destroy());
    if (request.url?.split('?', 1)[0] !== path) {
      socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n');
    } else if (!this.isAllowed(request)) {
      socket.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n');
    } else {
      this.sockets.handleUpgrade(request, socket, head, (accepted) =>
        this.sockets.emit('connection', accepted, request),
      );
    }
  }

  private isAllowed({ headers }: IncomingMessage): boolean {
    const { HOST, ALLOWED_HOSTS, ALLOWED_ORIGINS } = this.config.values;
    return isKnownHost(headers, hostNamesOf(HOST, ALLOWED_HOSTS)) && isAllowedOrigin(headers, ALLOWED_ORIGINS);
  }

  private serve(graphql: ReturnType<typeof makeServer>, socket: WebSocket, request: IncomingMessage): void {
    const session: SocketSession = { socket, request, id: newId() };
    // ws closes the connection by itself, with the code that fits (1009 for a frame that is too large).
    socket.on('error', (error) => {
      this.logger.debug({ err: error, connectionId: session.id }, 'a WebSocket failed');
    });
    socket.on('pong', () => this.silent.delete(socket));
    const closed = graphql.opened(
      {
        protocol: socket.protocol,
        send: (text) => send(socket, text),
        close: (code, reason) => {
          socket.close(code, reason);
        },
        onMessage: (handle) => {
          this.listen(session, handle);
        },
      },
      session,
    );
    socket.once('close', (code, reason) => {
      void closed(code, reason.toString());
    });
  }

  private listen({ socket, id }: SocketSession, handle: (text: string) => Promise<void>): void {
    const budget = new FrameBudget(systemClock.monotonic(), this.config.values.STREAMS_PER_PRINCIPAL);
    socket.on('message', (data: Buffer) => {
      if (socket.readyState !== socket.OPEN) return;
      if (!budget.take(systemClock.monotonic())) {
        socket.close(closeCodes.tooMany, 'Too many messages');
        return;
      }
      handle(data.toString()).catch((error: unknown) => {
        this.logger.error({ err: error, connectionId: id }, 'handling a WebSocket message failed');
        socket.close(1011, 'Internal error');
      });
    });
  }

  private schedulePing(): void {
    this.pinging = systemClock.after(pingMs, () => {
      this.dropSilent();
      this.schedulePing();
    });
  }
}

/** Resolves when the text is on its way; a socket that is gone takes it to nowhere. */
function send(socket: WebSocket, text: string): Promise<void> {
  return new Promise((resolve) => {
    if (socket.readyState === socket.OPEN)
      socket.send(text, () => {
        resolve();
      });
    else resolve();
  });
}
