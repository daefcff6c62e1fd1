import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** How a connection ends: with FIN, with RST, or in the middle of a message. */
export type Cut = 'end' | 'reset' | 'torn';

/** A network that fails on command: connections reach `target` until the test cuts them. */
export class TcpProxy {
  private readonly pairs = new Set<Pair>();
  /** Connections that were cut so far. */
  cuts = 0;

  private constructor(
    private readonly server: Server,
    public target: string,
  ) {
    server.on('connection', (client) => {
      this.join(client);
    });
  }

  static async start(target: string): Promise<TcpProxy> {
    const server = createServer({ noDelay: true });
    const proxy = new TcpProxy(server, target);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return proxy;
  }

  /** Base URL of the proxy. */
  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`; // it listens on TCP
  }

  /** Connections that are open now. */
  get open(): number {
    return this.pairs.size;
  }

  /** Ends every connection; a torn one with the first half of what comes next. */
  cut(how: Cut): void {
    for (const pair of this.pairs) {
      this.cuts += 1;
      if (how === 'torn') pair.isTorn = true;
      else this.part(pair, how === 'reset');
    }
  }

  async close(): Promise<void> {
    for (const pair of this.pairs) this.part(pair, false);
    this.server.close();
    await once(this.server, 'close');
  }

  private join(client: Socket): void {
    const { hostname, port } = new URL(this.target);
    const pair: Pair = { client, server: connect({ host: hostname, port: Number(port) }), isTorn: false };
    this.pairs.add(pair);
    for (const socket of [pair.client, pair.server]) {
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.part(pair, false);
      });
    }
    client.on('data', (bytes: Buffer) => pair.server.write(bytes));
    pair.server.on('data', (bytes: Buffer) => {
      if (!pair.isTorn) client.write(bytes);
      else if (!client.writableEnded) {
        client.end(bytes.subarray(0, Math.ceil(bytes.length / 2)));
        pair.server.destroy();
      }
    });
  }

  private part(pair: Pair, isReset: boolean): void {
    if (!this.pairs.delete(pair)) return;
    pair.server.destroy();
    if (isReset) pair.client.resetAndDestroy();
    else pair.client.end();
  }
}

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  isTorn: boolean;
}
