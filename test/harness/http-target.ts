import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as it arrived. */
export interface TargetRequest {
  readonly method: string;
  /** Path and query, undecoded. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** Answers one request. */
export type TargetHandler = (request: TargetRequest, response: ServerResponse) => void;

/** A server on loopback that stands for a third party's. */
export interface HttpTarget {
  readonly url: string;
  readonly port: number;
  readonly requests: TargetRequest[];
  /** How many connections were ever made. */
  readonly connections: () => number;
  /** How many are open now. */
  readonly open: () => number;
  close(): Promise<void>;
}

/** Starts one; it also answers as `localhost` and on `[::1]`. */
export async function startHttpTarget(handler: TargetHandler): Promise<HttpTarget> {
  const requests: TargetRequest[] = [];
  let connections = 0;
  let open = 0;
  const server = createServer((incoming, response) => {
    const received = (request: TargetRequest) => {
      requests.push(request);
      handler(request, response);
    };
    void read(incoming).then(received, () => undefined); // a client may disconnect before it has sent its whole body
  });
  server.on('connection', (socket) => {
    connections++;
    open++;
    socket.on('close', () => open--);
  });
  server.listen(0, '::');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    requests,
    connections: () => connections,
    open: () => open,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

async function read(incoming: IncomingMessage): Promise<TargetRequest> {
  const pieces: Buffer[] = [];
  for await (const piece of incoming as AsyncIterable<Buffer>) pieces.push(piece); // no encoding was set
  const { method = '', url = '', headers } = incoming;
  return { method, path: url, headers, body: Buffer.concat(pieces).toString() };
}
