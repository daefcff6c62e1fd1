import { type Client, createClient } from 'graphql-ws';
import WebSocket from 'ws';

import type { TestApi } from './api.js';

/** A GraphQL reply, loosely typed: tests know what they asked for. */
export interface GraphqlReply {
  readonly status: number;
  readonly data: Readonly<Record<string, any>> | null | undefined; // eslint-disable-line @typescript-eslint/no-explicit-any -- see above
  readonly errors: readonly {
    readonly message: string;
    readonly path?: readonly (string | number)[];
    readonly extensions: Readonly<Record<string, unknown>>;
  }[];
}

/** Who asks. */
export interface Asker {
  readonly key?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Asks over HTTP. */
export async function ask(
  { url }: Pick<TestApi, 'url'>,
  query: string,
  options: Asker & { readonly variables?: object } = {},
): Promise<GraphqlReply> {
  const { key, headers, variables } = options;
  const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...authorization, ...headers },
    body: JSON.stringify({ query, variables }),
  });
  const body = (await response.json()) as Partial<GraphqlReply>; // the shape of the protocol
  return { status: response.status, data: body.data, errors: body.errors ?? [] };
}

/** A real graphql-ws client without automatic reconnection. */
export function connect({ url }: Pick<TestApi, 'url'>, payload: Readonly<Record<string, unknown>>): Client {
  return createClient({
    url: `${url.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: payload,
    retryAttempts: 0,
    lazy: true,
  });
}

/** How a socket ended. */
export interface Closed {
  readonly code: number;
  readonly reason: string;
}

/** A message of graphql-transport-ws, loosely typed. */
export interface RawMessage {
  readonly type: string;
  readonly id?: string;
  readonly payload?: unknown;
}

/** A raw socket that speaks the protocol, for what a proper client would not send. */
export class RawSocket {
  readonly messages: RawMessage[] = [];
  readonly closed: Promise<Closed>;
  private readonly waiting = new Set<() => void>();

  private constructor(readonly socket: WebSocket) {
    this.closed = new Promise((resolve) => {
      socket.on('close', (code, reason) => {
        resolve({ code, reason: reason.toString() });
        for (const wake of this.waiting) wake();
      });
    });
    socket.on('error', () => undefined);
    socket.on('message', (data: Buffer) => {
      this.messages.push(JSON.parse(data.toString()) as RawMessage);
      for (const wake of this.waiting) wake();
    });
  }

  static async open({ url }: Pick<TestApi, 'url'>, headers: Readonly<Record<string, string>> = {}): Promise<RawSocket> {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws', { headers });
    const raw = new RawSocket(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once('open', () => {
        resolve();
      });
      socket.once('error', reject);
    });
    return raw;
  }

  /** Connects and authenticates. Reconnects, as clients do, when a slow machine missed the 3 s limit. */
  static async enter(api: Pick<TestApi, 'url'>, key: string, params: object = {}): Promise<RawSocket> {
    const raw = await RawSocket.open(api);
    raw.send({ type: 'connection_init', payload: { authorization: `Bearer ${key}`, ...params } });
    const isIn = raw.until(({ type }) => type === 'connection_ack').then(() => true);
    if (await Promise.race([isIn.catch(() => false), raw.closed.then(() => false)])) return raw;
    const { code, reason } = await raw.closed;
    if (code !== 4408) throw new Error(`the socket was closed first: ${code} ${reason}`);
    return RawSocket.enter(api, key, params);
  }

  send(message: unknown): void {
    this.socket.send(typeof message === 'string' ? message : JSON.stringify(message));
  }

  /** The first past or future message that matches. Throws when the socket closes without one. */
  async until(fits: (message: RawMessage) => boolean): Promise<RawMessage> {
    for (;;) {
      const found = this.messages.find(fits);
      if (found !== undefined) return found;
      if (this.socket.readyState === WebSocket.CLOSED) throw new Error('the socket closed first');
      await new Promise<void>((resolve) => {
        const wake = () => {
          this.waiting.delete(wake);
          resolve();
        };
        this.waiting.add(wake);
      });
    }
  }

  close(): void {
    this.socket.close();
  }
}
