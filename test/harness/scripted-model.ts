import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

import { takeRequest, type WireRequest, writeReply } from './scripted-http.js';
import { errorReply, type Reply } from './scripted-reply.js';

/** A request the scripted model has seen. */
export interface RecordedRequest extends WireRequest {
  /** The body, parsed; the tests know its shape. */
  readonly json: Readonly<Record<string, unknown>>;
  /** True once the client has gone before the reply's end. */
  readonly aborted: boolean;
  /** Settles when the reply was sent or the client has disconnected. */
  readonly settled: Promise<void>;
}

/** Decides the reply by the request; undefined passes the request on. */
export type Answerer = (request: RecordedRequest) => Reply | undefined;

/**
 * A model server that plays a script: first what was queued with `enqueue`, in order, then the reply of an `answer` function
 * knows. An unexpected request gets a 500 and is recorded; `assertDone` throws about it, and about replies
 * that was not requested. Time is the test's: gates instead of sleeps.
 */
export class ScriptedModel {
  readonly requests: RecordedRequest[] = [];
  private readonly unexpected: RecordedRequest[] = [];
  private readonly queue: Reply[] = [];
  private readonly answerers: Answerer[] = [];
  private readonly sockets = new Set<Socket>();
  private readonly waiters = new Set<() => void>();
  /** Connections taken so far, to see whether they are used again. */
  connections = 0;
  private recording = true;

  private constructor(private readonly server: Server) {
    server.on('connection', (socket) => {
      this.connections++;
      this.serve(socket);
    });
  }

  static async start(options: { readonly port?: number } = {}): Promise<ScriptedModel> {
    const server = createServer({ noDelay: true });
    const model = new ScriptedModel(server);
    server.listen(options.port ?? 0, '127.0.0.1');
    await once(server, 'listening');
    return model;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port; // it listens on TCP
  }

  /** What a client takes as base URL. */
  get url(): string {
    return `http://127.0.0.1:${this.port}/v1`;
  }

  /** Replies for the next requests of any kind. */
  enqueue(...replies: readonly Reply[]): void {
    this.queue.push(...replies);
  }

  /** Asked, newest first, when the queue is empty; for many clients at once. */
  answer(answerer: Answerer): void {
    this.answerers.unshift(answerer);
  }

  /** Keeps no requests from now on: for load tests, whose memory must not grow. */
  stopRecording(): void {
    this.recording = false;
  }

  /** Resolves with the `count`-th request (from 1), which may have come already. */
  async request(count: number): Promise<RecordedRequest> {
    for (;;) {
      const request = this.requests[count - 1];
      if (request !== undefined) return request;
      await new Promise<void>((resolve) => this.waiters.add(resolve));
    }
  }

  /** Throws when a request was not expected, or a queued reply was not used. */
  assertDone(): void {
    const surprises = this.unexpected.map(
      (request) => `unexpected ${request.method} ${request.path}: ${request.body.slice(0, 500)}`,
    );
    const leftOver = this.queue.length === 0 ? [] : [`${this.queue.length} replies were never asked for`];
    if (surprises.length + leftOver.length > 0) throw new Error([...surprises, ...leftOver].join('\n'));
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }

  private serve(socket: Socket): void {
    let bytes: Buffer = Buffer.alloc(0);
    let isBusy = false;
    const pump = async () => {
      if (isBusy) return;
      isBusy = true;
      for (let taken = takeRequest(bytes); taken !== undefined && !socket.destroyed; taken = takeRequest(bytes)) {
        bytes = taken.rest;
        await this.reply(socket, taken.request);
      }
      isBusy = false;
    };
    this.sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.sockets.delete(socket));
    socket.on('data', (chunk) => {
      bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
      void pump();
    });
  }

  private async reply(socket: Socket, wire: WireRequest): Promise<void> {
    const settled = Promise.withResolvers<undefined>();
    const request = new Recorded(wire, settled.promise);
    const reply = this.choose(request);
    if (this.recording) this.requests.push(request);
    for (const wake of this.waiters) wake();
    this.waiters.clear();
    const onClose = () => {
      request.aborted = reply.end !== 'destroy';
      settled.resolve(undefined);
    };
    socket.once('close', onClose);
    await writeReply(socket, reply);
    socket.off('close', onClose);
    settled.resolve(undefined);
  }

  private choose(request: RecordedRequest): Reply {
    const queued = this.queue.shift();
    if (queued !== undefined) return queued;
    for (const answerer of this.answerers) {
      const reply = answerer(request);
      if (reply !== undefined) return reply;
    }
    this.unexpected.push(request);
    return errorReply(500, { error: { message: 'The scripted model did not expect this request.' } });
  }
}

class Recorded implements RecordedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly settled: Promise<void>;
  aborted = false;

  constructor(wire: WireRequest, settled: Promise<undefined>) {
    this.method = wire.method;
    this.path = wire.path;
    this.headers = wire.headers;
    this.body = wire.body;
    this.settled = settled.then(() => undefined);
  }

  /** Parsed on demand, because load tests never read it. */
  get json(): Readonly<Record<string, unknown>> {
    return JSON.parse(this.body) as Readonly<Record<string, unknown>>; // model requests are objects
  }
}
