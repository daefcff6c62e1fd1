import {
  AppError,
  type Clock,
  defined,
  type GuardedFetch,
  OutboundError,
  type OutboundResponse,
  parseJson,
  type Secret,
  waitUnlessAborted,
} from '#platform';

/** A document: its own fields, and its id. */
export interface SyntrixDocument {
  readonly id: string;
  readonly [field: string]: unknown;
}

/** The routes of the two generations of the API. */
export type SyntrixApiStyle = 'v1' | 'databases';

export interface SyntrixQuery {
  readonly collection: string;
  readonly filters?: readonly SyntrixFilter[];
  readonly orderBy?: readonly { readonly field: string; readonly direction: 'asc' | 'desc' }[];
  readonly limit?: number;
  readonly startAfter?: string;
}

export interface SyntrixFilter {
  readonly field: string;
  readonly op: string;
  readonly value: unknown;
}

/** `ifMatch`: the document changes only if these fields have these values. */
type Conditional = { readonly ifMatch?: Readonly<Record<string, unknown>> };

export type SyntrixWrite =
  | { readonly type: 'create'; readonly path: string; readonly data: object }
  | ({ readonly type: 'update' | 'replace'; readonly path: string; readonly data: object } & Conditional)
  | ({ readonly type: 'delete'; readonly path: string } & Conditional);

/** The documents of a chat, both lists by `createdAt`. */
export interface ChatDocuments {
  readonly messages: readonly SyntrixDocument[];
  readonly toolCalls: readonly SyntrixDocument[];
}

/** The fields of a tool document when its call has ended. */
export type ToolCallResult =
  { readonly status: 'success'; readonly result: string } | { readonly status: 'failed'; readonly error: string };

export interface SyntrixTarget {
  readonly baseUrl: string;
  readonly apiStyle: SyntrixApiStyle;
  readonly database: string;
  readonly toolCollection: string;
  /** `preIssued`: the token came with a delivery, and the routes for such tokens are used. Null: no token is sent. */
  readonly token: { readonly value: Secret; readonly preIssued: boolean } | null;
}

export interface SyntrixClientOptions {
  readonly fetch: GuardedFetch;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The workspace's list of allowed hosts; empty: any public one. */
  readonly hosts?: readonly string[];
  /** How long one call may take, in ms. Default 10,000. */
  readonly timeoutMs?: number;
}

/** Newest documents kept of each collection of a chat. */
const maxDocuments = 1_000;
const pageSize = 200;
/** Pages of one list: a server whose list has no end must not occupy a worker. */
const maxPages = 1_000;
const maxCursor = 4_096;
/** UTF-16 units of the documents that are kept, as JSON. Older documents are left out. */
const maxKept = 16_777_216;
const maxTries = 3;
const firstBackoffMs = 1_000;
const longestWaitMs = 30_000;
const defaultTimeoutMs = 10_000;
const maxBytes = 16_777_216;

/**
 * Reads and writes documents of a Syntrix database. A call takes at most 10 s; network errors, 408, 429 and 5xx are tried 3 times. Creating a
 * document that exists and deleting one that does not count as done, so writes with fixed ids can be repeated. Throws `syntrix_unavailable` (retryable), `syntrix_refused`,
 * and `OutboundError` for addresses that are not allowed.
 */
export class SyntrixClient {
  constructor(
    private readonly target: SyntrixTarget,
    private readonly options: SyntrixClientOptions,
  ) {}

  /** The newest messages and tool calls of a chat. */
  async fetchHistory(chatPath: string): Promise<ChatDocuments> {
    const [messages, toolCalls] = await Promise.all([
      this.all(`${chatPath}/messages`),
      this.all(`${chatPath}/${this.target.toolCollection}`),
    ]);
    return { messages, toolCalls };
  }

  postMessage(chatPath: string, content: SyntrixDocument): Promise<void> {
    return this.write([{ type: 'create', path: `${chatPath}/messages/${content.id}`, data: content }]);
  }

  postToolCall(chatPath: string, toolData: SyntrixDocument): Promise<void> {
    const path = `${chatPath}/${this.target.toolCollection}/${toolData.id}`;
    return this.write([{ type: 'create', path, data: toolData }]);
  }

  /** Only a pending call is changed. */
  updateToolCall(toolPath: string, result: ToolCallResult): Promise<void> {
    const data = { ...result, updatedAt: this.options.clock.now() };
    return this.write([{ type: 'update', path: toolPath, data, ifMatch: { status: 'pending' } }]);
  }

  /** Null: the document does not exist. */
  async get(path: string): Promise<SyntrixDocument | null> {
    if (this.usesTriggerRoutes) {
      const answer = await this.call('POST', `${this.triggerBase}/get`, { body: { paths: [path] }, asDone: missing });
      return documentsIn(answer).find(({ id }) => id === idOf(path)) ?? null;
    }
    const document = await this.call('GET', this.documentUrl(path), { asDone: missing });
    return isDocument(document) ? document : isRecord(document) ? { ...document, id: idOf(path) } : null;
  }

  /** One page. */
  async query(
    query: SyntrixQuery,
  ): Promise<{ readonly documents: readonly SyntrixDocument[]; readonly nextCursor?: string }> {
    const answer = await this.call('POST', this.queryUrl, { body: { filters: [], ...query } });
    const documents = documentsIn(answer);
    const cursor = isRecord(answer) ? answer['nextCursor'] : undefined;
    return typeof cursor === 'string' && cursor !== '' ? { documents, nextCursor: cursor } : { documents };
  }

  /** In order, one document a request: the server does not write several as one. */
  async write(operations: readonly SyntrixWrite[]): Promise<void> {
    for (const operation of operations) await this.writeOne(operation);
  }

  private async all(collection: string): Promise<readonly SyntrixDocument[]> {
    let newest: readonly SizedDocument[] = [];
    const cursors = new Set<string>();
    let startAfter: string | undefined;
    do {
      const page = await this.query({
        collection,
        orderBy: [{ field: 'createdAt', direction: 'asc' }],
        limit: pageSize,
        ...defined({ startAfter }),
      });
      newest = newestOf([...newest, ...page.documents.map(sized)]);
      startAfter = page.nextCursor;
      if (startAfter === undefined) break;
      if (startAfter.length > maxCursor) throw refused('a query has a cursor that is too long');
      if (cursors.has(startAfter)) throw refused('a query repeats its cursor');
      cursors.add(startAfter);
    } while (cursors.size < maxPages);
    if (startAfter !== undefined) throw refused(`a query has more than ${maxPages} pages`);
    return newest.map(({ document }) => document);
  }

  private async writeOne(operation: SyntrixWrite): Promise<void> {
    const { type, path } = operation;
    const ifMatch = operation.type === 'create' ? undefined : operation.ifMatch;
    const data = operation.type === 'delete' ? {} : { data: operation.data };
    const asDone = type === 'delete' ? deleted : settled;
    if (this.usesTriggerRoutes) {
      const body = { writes: [{ type, path, ...data, ...toFilters(ifMatch) }] };
      await this.call('POST', `${this.triggerBase}/write`, { body, asDone });
      return;
    }
    // These routes have no condition, so the document is read first.
    if (ifMatch !== undefined && !(await this.matches(path, ifMatch))) return;
    if (operation.type === 'create') {
      const collection = path.slice(0, path.lastIndexOf('/'));
      await this.call('POST', this.documentUrl(collection), { body: { ...operation.data, id: idOf(path) }, asDone });
    } else if (operation.type === 'delete') await this.call('DELETE', this.documentUrl(path), { asDone });
    else await this.call(type === 'update' ? 'PATCH' : 'PUT', this.documentUrl(path), { body: operation.data });
  }

  private async matches(path: string, wanted: Readonly<Record<string, unknown>>): Promise<boolean> {
    const document = await this.get(path);
    return document !== null && Object.entries(wanted).every(([field, value]) => document[field] === value);
  }

  private get usesTriggerRoutes(): boolean {
    return this.target.apiStyle === 'databases' && this.target.token?.preIssued === true;
  }

  private get triggerBase(): string {
    return `trigger/v1/databases/${encodeURIComponent(this.target.database)}`;
  }

  private get queryUrl(): string {
    if (this.usesTriggerRoutes) return `${this.triggerBase}/query`;
    const { apiStyle, database } = this.target;
    return apiStyle === 'v1' ? 'api/v1/query' : `api/v1/databases/${encodeURIComponent(database)}/query`;
  }

  private documentUrl(path: string): string {
    const { apiStyle, database } = this.target;
    const encoded = path.split('/').map(encodeURIComponent).join('/');
    return apiStyle === 'v1'
      ? `api/v1/${encoded}`
      : `api/v1/databases/${encodeURIComponent(database)}/documents/${encoded}`;
  }

  /** The parsed response; null for a response without a body. `asDone`: statuses that also give null. */
  private async call(method: string, path: string, { body, asDone = none }: Call = {}): Promise<unknown> {
    const { clock, signal } = this.options;
    for (let attempt = 1; ; attempt++) {
      const answer = await this.send(method, path, body).catch((error: unknown) => {
        signal.throwIfAborted();
        if (!(error instanceof OutboundError) || !error.retryable) throw error;
        return error;
      });
      if (!(answer instanceof OutboundError) && !mayPass(answer.status)) return read(answer, asDone);
      if (attempt === maxTries) throw unavailable(answer instanceof OutboundError ? answer : `HTTP ${answer.status}`);
      const backoffMs = firstBackoffMs * 2 ** (attempt - 1);
      const waitMs =
        answer instanceof OutboundError ? backoffMs : retryAfterMs(answer.headers['retry-after'], clock.now());
      await waitUnlessAborted(Math.min(longestWaitMs, Math.max(backoffMs, waitMs)), clock, signal);
    }
  }

  private send(method: string, path: string, body: object | undefined): Promise<OutboundResponse> {
    const { fetch, signal, hosts = [], timeoutMs = defaultTimeoutMs } = this.options;
    const limits = { maxBytes, firstByteMs: timeoutMs, idleMs: timeoutMs, totalMs: timeoutMs };
    const { baseUrl, token } = this.target;
    const url = new URL(baseUrl);
    url.pathname = `${url.pathname.replace(/\/+$/, '')}/${path}`;
    return fetch.request({
      ...{ method, url, signal, hosts, limits },
      headers: {
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(token === null ? {} : { authorization: `Bearer ${token.value.reveal()}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }
}

interface Call {
  readonly body?: object;
  readonly asDone?: ReadonlySet<number>;
}

const none: ReadonlySet<number> = new Set();
/** Of a write: the document exists, or does not match the condition. */
const settled: ReadonlySet<number> = new Set([409, 412]);
const missing: ReadonlySet<number> = new Set([404]);
const deleted: ReadonlySet<number> = new Set([...settled, ...missing]);

function mayPass(status: number): boolean {
  return status === 408 || status === 429 || status >= 500;
}

function read({ status, body, isCut }: OutboundResponse, asDone: ReadonlySet<number>): unknown {
  if (asDone.has(status)) return null;
  if (status < 200 || status > 299 || isCut) throw refused(isCut ? 'a response over 16 MiB' : `HTTP ${status}`);
  if (body.length === 0) return null;
  try {
    return parseJson(Buffer.from(body).toString());
  } catch {
    return null; // some writes are answered with a plain text
  }
}

/** RFC 9110, 10.2.3: seconds or a date. */
function retryAfterMs(value: string | undefined, now: number): number {
  if (value === undefined) return 0;
  const seconds = Number(value);
  const ms = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(value) - now;
  return Number.isFinite(ms) ? Math.max(0, ms) : 0;
}

function toFilters(ifMatch: Readonly<Record<string, unknown>> | undefined): { readonly ifMatch?: SyntrixFilter[] } {
  if (ifMatch === undefined) return {};
  return { ifMatch: Object.entries(ifMatch).map(([field, value]) => ({ field, op: '==', value })) };
}

function documentsIn(answer: unknown): readonly SyntrixDocument[] {
  const list = isRecord(answer) ? (answer['documents'] ?? answer['docs']) : answer;
  return Array.isArray(list) ? list.filter(isDocument) : [];
}

interface SizedDocument {
  readonly document: SyntrixDocument;
  readonly size: number;
}

function sized(document: SyntrixDocument): SizedDocument {
  return { document, size: JSON.stringify(document).length };
}

/** The last documents, within the limits of their number and size. */
function newestOf(documents: readonly SizedDocument[]): readonly SizedDocument[] {
  const last = documents.slice(-maxDocuments);
  let total = 0;
  const tooOld = last.findLastIndex(({ size }) => (total += size) > maxKept);
  return last.slice(tooOld + 1);
}

function isDocument(value: unknown): value is SyntrixDocument {
  return isRecord(value) && typeof value['id'] === 'string';
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function idOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** The database does not respond, even after retries. */
function unavailable(cause: unknown): AppError {
  const message = 'The Syntrix database cannot be reached or reports an error. Check its base URL, or try again later.';
  return new AppError({ code: 'syntrix_unavailable', message, retryable: true, cause });
}

/** The database rejects the request, and would reject it again. */
function refused(what: string): AppError {
  const message = `The Syntrix database refuses the request: ${what}. Check the database and the token of the connection.`;
  return new AppError({ code: 'syntrix_refused', message });
}
