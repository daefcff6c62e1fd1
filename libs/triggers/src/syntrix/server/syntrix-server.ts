import { createHmac, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';

import { DocumentStore, type Match, type StoredDocument } from './document-store.js';

/** A trigger of the server: posts each matching change to `url`, signed, until it is answered with 2xx. */
export interface ServerTrigger {
  readonly triggerId: string;
  /** `*` matches one segment of the collection's path. */
  readonly collection: string;
  readonly events: readonly ('create' | 'update' | 'delete')[];
  readonly condition?: (document: StoredDocument) => boolean;
  readonly url: string;
}

/** A delivery and how it was answered so far. */
export interface ServerDelivery {
  readonly triggerId: string;
  readonly documentId: string;
  readonly body: string;
  readonly attempts: (number | 'failed')[];
}

export interface SyntrixServerOptions {
  readonly database?: string;
  readonly port?: number;
  /** Signs deliveries; absent: they are not signed. */
  readonly secret?: string;
  /** If set, every request must carry one of these bearer tokens. */
  readonly tokens?: readonly string[];
  readonly triggers?: readonly ServerTrigger[];
  /** How long a delivery may take to be answered. Default 5 s. */
  readonly timeoutMs?: number;
  /** Default 5. */
  readonly maxAttempts?: number;
  /** Before the second attempt; then doubled. Default 100 ms. */
  readonly backoffMs?: number;
  readonly onDelivery?: (delivery: ServerDelivery) => void;
  readonly onChange?: (event: string, document: StoredDocument, path: string) => void;
}

interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

interface Write {
  readonly type: string;
  readonly path: string;
  readonly data?: object | undefined;
  readonly ifMatch?: readonly Match[] | undefined;
}

const notFound: Reply = { status: 404, body: { error: 'not found' } };

/**
 * A small server of the Syntrix protocol: documents and queries in memory, and triggers with signed deliveries and retries. For tests and the
 * demo, and identifies itself in its `Server` header.
 */
export class SyntrixServer {
  readonly store = new DocumentStore();
  readonly deliveries: ServerDelivery[] = [];
  /** `METHOD path` of every request. */
  readonly requests: string[] = [];
  triggers: readonly ServerTrigger[];
  /** Answers a request in place of the server; for tests of failures. */
  intercept:
    ((request: { readonly method: string; readonly path: string }) => Reply | undefined | Promise<Reply>) | undefined;
  private readonly running = new Set<Promise<void>>();
  private readonly stopping = new AbortController();
  private seq = 0;

  private constructor(
    private readonly server: Server,
    private readonly options: SyntrixServerOptions,
  ) {
    this.triggers = options.triggers ?? [];
    server.on('request', (request, response) => void this.handle(request, response));
  }

  static async start(options: SyntrixServerOptions = {}): Promise<SyntrixServer> {
    const server = createServer();
    const started = new SyntrixServer(server, options);
    server.listen(options.port ?? 0, '127.0.0.1');
    await once(server, 'listening');
    return started;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`; // it listens on TCP
  }

  /** Creates a document as a client of the database would; false: it exists. */
  create(collection: string, document: StoredDocument): boolean {
    const created = this.store.create(`${collection}/${document.id}`, document);
    if (created) this.changed('create', `${collection}/${document.id}`, { document });
    return created;
  }

  /** Resolves when all deliveries have been answered or given up. */
  async settled(): Promise<void> {
    while (this.running.size > 0) await Promise.all(this.running);
  }

  async close(): Promise<void> {
    this.stopping.abort();
    await Promise.allSettled(this.running);
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const refused: Reply = { status: 400, body: { error: 'bad request' } };
    const { status, headers, body } = await this.reply(request).catch(() => refused);
    response.writeHead(status, { server: 'nightshift-syntrix-demo', 'content-type': 'application/json', ...headers });
    response.end(body === undefined ? undefined : JSON.stringify(body));
  }

  private async reply(request: IncomingMessage): Promise<Reply> {
    const { method = 'GET', headers } = request;
    const path = decodeURIComponent(new URL(request.url ?? '/', 'http://syntrix').pathname);
    this.requests.push(`${method} ${path}`);
    const pieces: Buffer[] = [];
    for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece);
    const text = Buffer.concat(pieces).toString();
    const intercepted = await this.intercept?.({ method, path });
    if (intercepted !== undefined) return intercepted;
    const { tokens } = this.options;
    if (tokens !== undefined && !tokens.includes(headers.authorization?.replace(/^Bearer /, '') ?? ''))
      return { status: 401, body: { error: 'unauthorized' } };
    const body = (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>; // each route checks what it reads
    return this.route(method, path, body);
  }

  private route(method: string, path: string, body: Record<string, unknown>): Reply {
    const { database = 'default' } = this.options;
    const triggerBase = `/trigger/v1/databases/${database}/`;
    if (path.startsWith(triggerBase)) return this.triggerRoute(path.slice(triggerBase.length), body);
    const inDatabase = `/api/v1/databases/${database}/`;
    if (path === '/api/v1/query' || path === `${inDatabase}query`) return { status: 200, body: this.store.query(body) };
    if (path.startsWith(`${inDatabase}documents/`))
      return this.documentRoute(method, path.slice(`${inDatabase}documents/`.length), body);
    if (path.startsWith('/api/v1/databases/')) return notFound;
    return path.startsWith('/api/v1/') ? this.documentRoute(method, path.slice('/api/v1/'.length), body) : notFound;
  }

  private documentRoute(method: string, path: string, body: Record<string, unknown>): Reply {
    switch (method) {
      case 'GET': {
        const document = this.store.get(path);
        return document === undefined ? notFound : { status: 200, body: document };
      }
      case 'POST': {
        const { id } = body;
        const document = { ...body, id: typeof id === 'string' ? id : `doc_${++this.seq}` };
        return this.create(path, document)
          ? { status: 201, body: document }
          : { status: 409, body: { error: 'exists' } };
      }
      case 'PATCH':
        return this.update(path, { data: body });
      case 'PUT':
        return this.update(path, { data: body, isWhole: true });
      case 'DELETE':
        return this.remove(path);
      default:
        return { status: 405 };
    }
  }

  private triggerRoute(operation: string, body: Record<string, unknown>): Reply {
    if (operation === 'query') return { status: 200, body: this.store.query(body) };
    if (operation === 'get') {
      const paths = body['paths'] as string[];
      return { status: 200, body: { documents: paths.flatMap((path) => this.store.get(path) ?? []) } };
    }
    if (operation !== 'write') return notFound;
    for (const write of body['writes'] as Write[]) {
      const id = write.path.slice(write.path.lastIndexOf('/') + 1);
      const collection = write.path.slice(0, write.path.lastIndexOf('/'));
      if (write.type === 'create') {
        if (!this.create(collection, { ...write.data, id })) return { status: 409, body: { error: 'exists' } };
        continue;
      }
      const { path, ifMatch } = write;
      const change = { data: write.data, ifMatch, isWhole: write.type === 'replace' };
      const reply = write.type === 'delete' ? this.remove(path, ifMatch) : this.update(path, change);
      if (reply.status !== 200) return reply;
    }
    return { status: 200 };
  }

  private remove(path: string, ifMatch: readonly Match[] = []): Reply {
    const before = this.store.get(path);
    if (before === undefined) return notFound;
    if (!this.store.matches(before, ifMatch)) return { status: 409, body: { error: 'condition' } };
    this.store.delete(path);
    return { status: 200 };
  }

  private update(
    path: string,
    { data, ifMatch = [], isWhole = false }: Pick<Write, 'data' | 'ifMatch'> & { readonly isWhole?: boolean },
  ): Reply {
    const before = this.store.get(path);
    if (before === undefined) return notFound;
    if (!this.store.matches(before, ifMatch)) return { status: 409, body: { error: 'condition' } };
    const document = { ...(isWhole ? {} : before), ...data, id: before.id };
    this.store.put(path, document);
    this.changed('update', path, { document, before });
    return { status: 200, body: document };
  }

  private changed(
    event: 'create' | 'update',
    path: string,
    { document, before }: { readonly document: StoredDocument; readonly before?: StoredDocument },
  ): void {
    this.options.onChange?.(event, document, path);
    const collection = path.slice(0, path.lastIndexOf('/'));
    for (const trigger of this.triggers) {
      const { collection: pattern, events, condition = () => true } = trigger;
      if (!events.includes(event) || !toPattern(pattern).test(collection) || !condition(document)) continue;
      const seq = ++this.seq;
      const { database = 'default' } = this.options;
      const body = JSON.stringify({
        ...{ triggerId: trigger.triggerId, database, tenant: database, event, collection, documentId: document.id },
        ...{ docKey: path, lsn: String(seq), seq, before, after: document, payload: document },
        ...{ ts: Date.now(), deliveryId: randomUUID() },
      });
      const running = this.deliver(trigger.url, {
        ...{ triggerId: trigger.triggerId, documentId: document.id, body, attempts: [] },
      }).finally(() => this.running.delete(running));
      this.running.add(running);
    }
  }

  private async deliver(url: string, delivery: ServerDelivery): Promise<void> {
    this.deliveries.push(delivery);
    const { maxAttempts = 5, backoffMs = 100, timeoutMs = 5_000, onDelivery } = this.options;
    for (let attempt = 1; attempt <= maxAttempts && !this.stopping.signal.aborted; attempt++) {
      const status = await this.send(url, delivery.body, timeoutMs);
      delivery.attempts.push(status);
      onDelivery?.(delivery);
      if (status !== 'failed' && status < 300) return;
      await wait(backoffMs * 2 ** (attempt - 1), undefined, { signal: this.stopping.signal }).catch(() => undefined);
    }
  }

  private async send(url: string, body: string, timeoutMs: number): Promise<number | 'failed'> {
    const { secret } = this.options;
    const headers = {
      'content-type': 'application/json',
      ...(secret === undefined ? {} : { 'x-syntrix-signature': signatureOf(secret, body) }),
    };
    const signal = AbortSignal.any([this.stopping.signal, AbortSignal.timeout(timeoutMs)]);
    try {
      const response = await fetch(url, { method: 'POST', headers, body, signal });
      await response.text();
      return response.status;
    } catch {
      return 'failed';
    }
  }
}

/** The value of `X-Syntrix-Signature` for a body, at `seconds` since the epoch. */
export function signatureOf(secret: string, body: string, seconds = Math.floor(Date.now() / 1_000)): string {
  return `t=${seconds},v1=${createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')}`;
}

function toPattern(glob: string): RegExp {
  const segments = glob.split('/').map((part) => (part === '*' ? '[^/]+' : part.replace(/[^\w-]/g, '\\$&')));
  return new RegExp(`^${segments.join('/')}$`);
}
