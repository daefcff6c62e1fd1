import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request that arrived. */
export interface ReceivedWebhook {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Answers a request, or leaves it open. */
export type Answering = (response: ServerResponse, webhook: ReceivedWebhook) => void;

/** A consumer of webhooks on loopback, as tests script it. Each request is listed when its body has arrived. */
export class WebhookReceiver {
  readonly received: ReceivedWebhook[] = [];
  /** Requests that have not been answered, now and at most. */
  open = 0;
  mostOpen = 0;
  answer: Answering = (response) => response.writeHead(200).end('ok');

  private constructor(private readonly server: Server) {}

  static async listen(): Promise<WebhookReceiver> {
    const server = createServer();
    const receiver = new WebhookReceiver(server);
    server.on('request', (request, response) => {
      receiver.open += 1;
      receiver.mostOpen = Math.max(receiver.mostOpen, receiver.open);
      response.on('close', () => (receiver.open -= 1));
      const pieces: Buffer[] = [];
      request.on('data', (piece: Buffer) => pieces.push(piece));
      request.on('end', () => {
        const webhook = { path: request.url ?? '', headers: request.headers, body: Buffer.concat(pieces) };
        receiver.received.push(webhook);
        receiver.answer(response, webhook);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port; // it listens on TCP
  }

  url(path = '/hook'): string {
    return `http://127.0.0.1:${this.port}${path}`;
  }

  /** The settings with which this server may be sent webhooks. */
  get env(): Readonly<Record<string, string>> {
    return {
      WEBHOOKS_ALLOW_HTTP: 'true',
      WEBHOOKS_ALLOW_CIDRS: '127.0.0.0/8',
      OUTBOUND_PORTS: String(this.port),
    };
  }

  /** Breaks off the requests that were left open. */
  closeOpen(): void {
    this.server.closeAllConnections();
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.server.close(() => {
        resolve();
      });
      this.server.closeAllConnections();
    });
  }
}
