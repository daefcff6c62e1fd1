import { type Client, createClient } from 'graphql-ws/client';

import type { Credentials } from './credentials.js';
import { NightshiftError } from './nightshift-error.js';
import { toSocketError } from './to-failure.js';
import type { TypedDocument } from './typed-document.js';

/** A class like the browser's `WebSocket`, such as that of the package `ws`. */
export type WebSocketClass = new (url: string, protocol: string) => object;

export interface SocketTransportOptions {
  /** URL of GraphQL over HTTP. */
  readonly url: string;
  readonly credentials: Credentials;
  readonly workspace: string | undefined;
  /** Undefined: the runtime has none. Null: the application uses none. */
  readonly webSocket: WebSocketClass | null | undefined;
  /** How long a connection may be silent before it counts as lost, in ms. */
  readonly heartbeatMs: number;
}

/** Maximum buffered events of a viewer that reads more slowly than its job writes; the other events stay on the server. */
const maxPending = 256;

/** Runs all subscriptions over one socket, which is open while there are subscriptions. The transport does not reconnect; its callers do. */
export class SocketTransport {
  private client: Client | undefined;
  /** The token of the current socket. */
  private token = '';
  /** Whether the server has accepted that token. */
  private isAcknowledged = false;
  private isClosed = false;

  constructor(private readonly options: SocketTransportOptions) {}

  /**
   * One attempt at a subscription. Returns when the server has completed it. Throws a `NightshiftError` when the connection is lost, and
   * `fell_behind`, after the buffered events, when the reader is too slow; the caller then resubscribes after the last event that it read.
   * Throws the reason of `signal` when that aborts.
   */
  async *subscribe<TResult, TVariables extends object>(
    document: TypedDocument<TResult, TVariables>,
    variables: TVariables,
    signal: AbortSignal,
  ): AsyncGenerator<TResult, void, undefined> {
    const inbox = new Inbox<TResult>(maxPending);
    const leave = this.open().subscribe<TResult>(
      { query: document.toString(), variables: variables as Record<string, unknown> }, // the document requires an object
      {
        next: ({ data, errors }) => {
          if (data) inbox.put(data);
          if (errors) inbox.finish(toSocketError(errors));
          if (inbox.isOver) leave();
        },
        error: (error) => {
          inbox.finish(this.explain(error));
        },
        complete: () => {
          inbox.finish();
        },
      },
    );
    try {
      yield* inbox.read(signal);
    } finally {
      leave();
    }
  }

  /** If the server accepted a token before and rejects it now, the token has expired or was revoked, and the next one may be valid. */
  private explain(thrown: unknown): NightshiftError {
    const error = toSocketError(thrown);
    if (error.code !== 'unauthenticated' || !this.isAcknowledged) return error;
    this.refuseToken();
    return new NightshiftError('The token has expired or was revoked', {
      code: 'token_ended',
      retryable: true,
      cause: error,
    });
  }

  /** Throws if the runtime has no WebSocket, and the application did not pass `null`. */
  assertThere(): void {
    if (this.options.webSocket === undefined) throw missing();
  }

  /** Discards the token of the socket, which the server has rejected. Returns whether the source may have another token. */
  refuseToken(): boolean {
    return this.options.credentials.refuse(this.token);
  }

  /** Ends all subscriptions permanently. */
  close(): void {
    this.isClosed = true;
    this.client?.terminate();
    void this.client?.dispose();
  }

  private open(): Client {
    if (this.isClosed) throw new NightshiftError('This client was closed', { code: 'closed' });
    return (this.client ??= this.connect());
  }

  private connect(): Client {
    const { url, webSocket, credentials, workspace, heartbeatMs } = this.options;
    if (webSocket === undefined || webSocket === null) throw missing();
    // A connection can be dead without a close, for example after a laptop's sleep. The timeout ends it when no message arrives.
    let timeout: ReturnType<typeof setTimeout> | undefined;
    const expect = () => {
      clearTimeout(timeout);
      timeout = setTimeout(() => {
        client.terminate();
      }, heartbeatMs);
    };
    const client = createClient({
      url: url.replace(/^http/, 'ws'),
      webSocketImpl: webSocket,
      retryAttempts: 0,
      keepAlive: heartbeatMs,
      connectionParams: async () => {
        this.token = await credentials.token();
        return { authorization: `Bearer ${this.token}`, ...(workspace !== undefined && { workspaceId: workspace }) };
      },
      on: {
        connecting: () => {
          this.isAcknowledged = false;
          expect();
        },
        connected: () => {
          this.isAcknowledged = true;
          clearTimeout(timeout);
        },
        ping: (isReceived) => {
          if (!isReceived) expect();
        },
        pong: (isReceived) => {
          if (isReceived) clearTimeout(timeout);
        },
        closed: () => {
          clearTimeout(timeout);
        },
      },
    });
    return client;
  }
}

function missing(): NightshiftError {
  return new NightshiftError(
    'This runtime has no WebSocket: pass one as `webSocket`, such as that of the package "ws", or use Node 22 or newer',
    { code: 'no_websocket' },
  );
}

/** Messages that the socket has received and the reader has not read: a bounded queue with one writer and one reader. */
export class Inbox<Entry> {
  private readonly entries: Entry[] = [];
  private end: { readonly error: Error | undefined } | undefined;
  private wake: () => void = () => undefined;

  constructor(private readonly capacity: number) {}

  /** Whether the inbox has ended and drops further entries. */
  get isOver(): boolean {
    return this.end !== undefined;
  }

  /** Adds an entry. If the inbox is full, it ends: the reader gets the buffered entries, then the error `fell_behind`. */
  put(entry: Entry): void {
    if (this.isOver) return;
    this.entries.push(entry);
    if (this.entries.length >= this.capacity)
      this.finish(
        new NightshiftError('The application read events more slowly than they arrived; the buffer is full', {
          code: 'fell_behind',
          retryable: true,
        }),
      );
    this.wake();
  }

  /** Ends the inbox. Only the first call has an effect. */
  finish(error?: Error): void {
    this.end ??= { error };
    this.wake();
  }

  /** Yields buffered and new entries until the end, then throws its error. Throws the reason of `signal` at once when it aborts. */
  async *read(signal: AbortSignal): AsyncGenerator<Entry, void, undefined> {
    const stop = () => {
      this.wake();
    };
    signal.addEventListener('abort', stop);
    try {
      for (;;) {
        signal.throwIfAborted();
        const entry = this.entries.shift();
        if (entry !== undefined) yield entry;
        else if (this.end === undefined) await new Promise<void>((resolve) => (this.wake = resolve));
        else if (this.end.error === undefined) return;
        else throw this.end.error;
      }
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }
}
