import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The state that the health server reports. */
export interface HealthSource {
  /** Whether this process wants jobs and its database answers. */
  isReady(): Promise<boolean>;
  /** The plugins of this process, for `/readyz`. */
  plugins(): readonly object[];
  /** Prometheus text format 0.0.4. */
  metrics(): Promise<string>;
}

/** Serves `/healthz`, `/readyz` and `/metrics` of a process that has no other endpoint. */
export class HealthServer {
  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  /** Port 0 takes a free one. Rejects when the port is taken. */
  static async listen(source: HealthSource, host: string, port: number): Promise<HealthServer> {
    const server = createServer((request, response) => {
      answer(source, request.url ?? '/', response).catch(() => {
        response.writeHead(500).end();
      });
    });
    server.headersTimeout = 5_000;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, host, resolve);
    });
    const bound = server.address() as AddressInfo; // it listens on TCP, so the address is one
    return new HealthServer(server, `http://${host.includes(':') ? `[${host}]` : host}:${bound.port}`);
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

async function answer(source: HealthSource, url: string, response: ServerResponse): Promise<void> {
  const [path] = url.split('?');
  response.setHeader('Cache-Control', 'no-store');
  if (path === '/healthz') send(response, 200, { status: 'ok' });
  else if (path === '/readyz') {
    const ready = await source.isReady();
    send(response, ready ? 200 : 503, { status: ready ? 'ready' : 'not_ready', plugins: source.plugins() });
  } else if (path === '/metrics') {
    response.setHeader('Content-Type', 'text/plain; version=0.0.4; charset=utf-8');
    response.end(await source.metrics());
  } else send(response, 404, { error: 'Not found', code: 'not_found' });
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8' }).end(JSON.stringify(body));
}
