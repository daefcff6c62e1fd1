import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';

import { Inject, Injectable } from '@nestjs/common';
import { handleProtocols, makeServer } from 'graphql-ws';
import { type WebSocket, WebSocketServer } from 'ws';

import { type Clock, Config, LOGGER, type Logger, newId, systemClock, type Timer } from '#platform';
import { JsonScan, MAX_JSON_DEPTH } from '#platform/api';

import { hostNamesOf, isKnownHost } from '../../auth/hosts.js';
import { isAllowedOrigin } from '../../auth/origins.js';
import { clientAddressKeys } from '../../refusals/client-address.js';
import { RefusalDelay } from '../../refusals/refusal-delay.js';
import { SlowViewers } from '../../streams/slow-viewers.js';
import { FrameBudget, onePong, ReadPacing } from './client-limits.js';
import { ResultSlots } from './result-slots.js';
import { SocketOutlet } from './socket-outlet.js';
import { SocketProtocol } from './socket-protocol.js';
import { closeCodes, closeFor, type SocketSession } from './socket-session.js';
import { UpgradeTurns } from './upgrade-turns.js';

const path = '/graphql';
const maxPayload = 256 * 1024;
/** Interval of pings. A peer that has not answered a ping before the next one counts as dead. */
const pingMs = 15_000;
/** A peer that does not answer a close frame within this time is disconnected. */
const closeTimeoutMs = 2_000;
const maxJitterMs = 1_000;
const retryAfterSeconds = 1;
/** Maximum fragments of one message and chunks of one frame, because each uses extra memory. */
const maxPieces = 2_048;
/** An option of ws that its type definitions lack. */
const closing = { closeTimeout: closeTimeoutMs };

/**
 * GraphQL over WebSocket (graphql-transport-ws) on the same path as GraphQL over HTTP, attached to the HTTP server. Frames have at most 256
 * KB, are not compressed, and count against a limit; pages of other sites cannot connect.
 */
@Injectable()
export class GraphqlSocketGateway {
  private readonly sockets = new WebSocketServer({
    noServer: true,
    maxPayload,
    maxFragments: maxPieces,
    maxBufferedChunks: maxPieces,
    ...closing,
    perMessageDeflate: false,
    autoPong: false,
    handleProtocols,
  });
  private readonly pending: PendingSockets;
  /** Queues upgrades, and connections of addresses with many refused requests. */
  readonly turns: UpgradeTurns;
  private readonly silent = new WeakSet<WebSocket>();
  private pinging: Timer | undefined;

  constructor(
    private readonly protocol: SocketProtocol,
    @Inject(LOGGER) private readonly logger: Logger,
    private readonly config: Config,
    private readonly slow: SlowViewers,
    refusals: RefusalDelay,
  ) {
    const { SOCKETS_PENDING, TRUSTED_PROXIES } = config.values;
    this.pending = new PendingSockets(SOCKETS_PENDING, systemClock);
    this.turns = new UpgradeTurns(systemClock, clientAddressKeys(TRUSTED_PROXIES), SOCKETS_PENDING, refusals);
  }

  /** Connections without an accepted `connection_init`. */
  get pendingSize(): number {
    return this.pending.size;
  }

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
    server.on('connection', (connection) => {
      this.turns.slowDown(connection);
    });
    server.on('upgrade', (request, socket, head) => {
      this.upgrade(request, socket, head);
    });
    this.schedulePing();
  }

  /** Ends connections whose peer has not answered the last ping (the peer may have disappeared without a close), and pings the others. */
  dropSilent(): void {
    for (const socket of this.sockets.clients) {
      if (this.silent.has(socket)) socket.terminate();
      else {
        this.silent.add(socket);
        socket.ping();
      }
    }
  }

  /** Asks every client to reconnect, spread over a second, then frees the remaining connections. */
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
    const deadline = setTimeout(() => {
      for (const socket of clients) socket.terminate();
    }, closeTimeoutMs);
    await Promise.all(closed);
    clearTimeout(deadline);
    this.sockets.close();
  }

  private upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    // Without a listener, a connection reset would end the process.
    socket.on('error', () => socket.destroy());
    if (request.url?.split('?', 1)[0] !== path) {
      refuse(socket, '404 Not Found');
      return;
    }
    if (!this.isAllowed(request)) {
      refuse(socket, '403 Forbidden');
      return;
    }
    const accept = () => {
      this.sockets.handleUpgrade(request, socket, head, (accepted) =>
        this.sockets.emit('connection', accepted, request),
      );
    };
    if (this.pending.hasRoom && this.turns.takeNow()) accept();
    else if (!this.turns.wait(request, socket, accept)) {
      refuse(socket, '503 Service Unavailable', `Retry-After: ${retryAfterSeconds}\r\n`);
    }
  }

  private isAllowed({ headers }: IncomingMessage): boolean {
    const { HOST, ALLOWED_HOSTS, ALLOWED_ORIGINS } = this.config.values;
    return isKnownHost(headers, hostNamesOf(HOST, ALLOWED_HOSTS)) && isAllowedOrigin(headers, ALLOWED_ORIGINS);
  }

  private serve(graphql: ReturnType<typeof makeServer>, socket: WebSocket, request: IncomingMessage): void {
    const { slowBytes: bytes, slowMs: ms } = this.slow.limits;
    const limits = { bytes, ms, unsent: this.slow };
    const outlet = new SocketOutlet(socket, request.socket, systemClock, limits);
    const admit = () => {
      this.pending.remove(socket);
    };
    const session: SocketSession = { socket, request, id: newId(), outlet, slots: new ResultSlots(), admit };
    this.pending.add(socket, request.socket);
    // ws itself closes the connection with the right code, such as 1009 for a frame that is too large.
    socket.on('error', (error) => {
      this.logger.debug({ err: error, connectionId: session.id }, 'a WebSocket failed');
    });
    const closed = graphql.opened(
      {
        protocol: socket.protocol,
        send: (text) => outlet.send(text),
        close: (code, reason) => {
          socket.close(code, reason);
        },
        onMessage: (handle) => {
          this.listen(session, handle);
        },
        onPing: onePong((payload) => outlet.send(JSON.stringify({ type: 'pong', payload }))),
      },
      session,
    );
    socket.once('close', (code, reason) => {
      void closed(code, reason.toString());
    });
  }

  private listen({ socket, id }: SocketSession, handle: (text: string) => Promise<void>): void {
    const budget = new FrameBudget(systemClock.monotonic(), this.config.values.STREAMS_PER_PRINCIPAL);
    /** Counts a frame of any kind; false: the frame exceeds the limit, and the connection ends. */
    const isWithinBudget = () => {
      if (socket.readyState !== socket.OPEN) return false;
      if (budget.take(systemClock.monotonic())) return true;
      socket.close(closeCodes.tooMany, 'Too many messages');
      return false;
    };
    const pacing = new ReadPacing(socket, systemClock);
    // A frame has one level more than the body of a request over HTTP.
    const limits = { depth: MAX_JSON_DEPTH + 1, tokens: this.config.values.MAX_BODY_TOKENS };
    socket.on('message', (data: Buffer) => {
      if (!isWithinBudget()) return;
      if (new JsonScan(limits).push(data) !== null) {
        socket.close(closeCodes.invalid, 'Too deeply nested, or too many values');
        return;
      }
      pacing.begin(data.length);
      handle(data.toString())
        .catch((error: unknown) => {
          if (isUnexpectedMessage(error)) {
            socket.close(closeCodes.invalid, 'Unexpected message');
            return;
          }
          this.logger.error({ err: error, connectionId: id }, 'handling a WebSocket message failed');
          socket.close(1011, 'Internal error');
        })
        .finally(() => {
          pacing.end(data.length);
        });
    });
    // RFC 6455, section 5.5.3: a pong may answer the latest of several pings.
    const pong = onePong(
      (data: Buffer) =>
        new Promise<void>((sent) => {
          socket.pong(data, false, () => {
            sent();
          });
        }),
    );
    socket.on('ping', (data: Buffer) => {
      if (isWithinBudget()) void pong(data);
    });
    socket.on('pong', () => {
      this.silent.delete(socket);
      isWithinBudget();
    });
  }

  private schedulePing(): void {
    this.pinging = systemClock.after(pingMs, () => {
      this.dropSilent();
      this.schedulePing();
    });
  }
}

/** Rejects an upgrade and closes the socket without waiting for the peer. */
function refuse(socket: Duplex, status: string, headers = ''): void {
  socket.once('finish', () => socket.destroy());
  socket.end(`HTTP/1.1 ${status}\r\n${headers}Connection: close\r\n\r\n`);
}

/** Bytes that a connection may send before its `connection_init` is accepted; several times the size of a long token. */
const maxBytes = 32 * 1024;
/** How long an ended connection still counts: as long as a client may take for `connection_init`, so that reconnecting does not evade the limit. */
const endedMs = 3_000;

/**
 * The connections without an accepted `connection_init`, which anyone can open. At most `max` exist; one more closes the oldest. A
 * well-behaved client sends `connection_init` at once, so the oldest connections are those that never will.
 */
export class PendingSockets {
  private readonly pending = new Map<WebSocket, () => void>();
  private ended = 0;

  constructor(
    private readonly max: number,
    private readonly clock: Clock,
  ) {}

  get size(): number {
    return this.pending.size;
  }

  /** Whether fewer than `max` connections lack an accepted `connection_init`, including those that ended without one in the last seconds. */
  get hasRoom(): boolean {
    return this.pending.size + this.ended < this.max;
  }

  /** `stream` is what `socket` reads from. */
  add(socket: WebSocket, stream: Duplex): void {
    let bytes = 0;
    const count = (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxBytes) socket.terminate();
    };
    stream.on('data', count);
    this.pending.set(socket, () => stream.off('data', count));
    socket.once('close', () => {
      if (this.pending.has(socket)) this.countEnd();
      this.remove(socket);
    });
    const [oldest] = this.pending.keys();
    if (this.pending.size > this.max && oldest !== undefined) {
      this.remove(oldest);
      // After a close frame, the peer would decide when the connection ends.
      oldest.terminate();
    }
  }

  /** Removes a connection whose `connection_init` is accepted, or that has ended. */
  remove(socket: WebSocket): void {
    this.pending.get(socket)?.();
    this.pending.delete(socket);
  }

  private countEnd(): void {
    this.ended += 1;
    this.clock.after(endedMs, () => (this.ended -= 1));
  }
}

/** The error of graphql-ws for a message that only a server may send. */
function isUnexpectedMessage(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('Unexpected message of type');
}
