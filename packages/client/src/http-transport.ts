import { BackOff, type BackOffOptions } from './back-off.js';
import type { Credentials } from './credentials.js';
import { NightshiftError } from './nightshift-error.js';
import { type GraphqlFault, toError } from './to-failure.js';
import type { TypedDocument } from './typed-document.js';

export interface HttpTransportOptions {
  /** Base URL of the server, with a slash at its end. */
  readonly url: string;
  readonly credentials: Credentials;
  readonly workspace: string | undefined;
  readonly fetch: typeof fetch;
  readonly timeoutMs: number;
  readonly backOff: BackOffOptions;
}

export interface ExecuteOptions {
  readonly signal?: AbortSignal | undefined;
  readonly retry: Retry;
}

/**
 * Whether to repeat a request whose response was lost. `never`: repeating it could have another effect than sending it once. `briefly`: for
 * some seconds. `patiently`: as long as the client tries to reconnect.
 */
export type Retry = 'never' | 'briefly' | 'patiently';

interface Reply {
  readonly data?: unknown;
  readonly errors?: readonly GraphqlFault[];
}

/** Maximum attempts of `briefly`: about ten seconds. */
const maxAttempts = 8;

/** A request, and the function that reads its response. */
export interface HttpRequest<T> {
  /** Path relative to the base URL. */
  readonly path: string;
  readonly method: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Blob;
  /** In ms. Default: the timeout of all requests. */
  readonly timeoutMs?: number | undefined;
  /** Reads the response. Throws a `NightshiftError` if the server refused the request; any other error counts as a lost connection. */
  readonly read: (response: Response) => Promise<T>;
}

/** Sends queries, mutations and files, one request each. */
export class HttpTransport {
  constructor(private readonly options: HttpTransportOptions) {}

  /** Returns the data. Rejects with a `NightshiftError`, or with the reason of `signal`. */
  async execute<TResult, TVariables>(
    document: TypedDocument<TResult, TVariables>,
    variables: TVariables,
    options: ExecuteOptions,
  ): Promise<TResult> {
    const headers = {
      'content-type': 'application/json',
      accept: 'application/graphql-response+json, application/json',
    };
    const body = JSON.stringify({ query: document.toString(), variables });
    const read = async (response: Response) => dataOf(response, await response.text());
    const data = await this.send({ path: 'graphql', method: 'POST', headers, body, read }, options);
    return data as TResult; // the document determines the type of the result
  }

  /** Returns the result of `read`. Rejects as `execute`. */
  async send<T>(request: HttpRequest<T>, { signal, retry }: ExecuteOptions): Promise<T> {
    const { backOff: terms } = this.options;
    const attempts = Math.min(terms.attempts ?? Infinity, retry === 'patiently' ? Infinity : maxAttempts);
    const backOff = new BackOff({ ...terms, attempts });
    let isRefused = false;
    for (;;) {
      signal?.throwIfAborted();
      const token = await this.options.credentials.token();
      try {
        return await this.sendOnce(request, token, signal);
      } catch (error) {
        signal?.throwIfAborted();
        if (!(error instanceof NightshiftError)) throw error;
        if (error.code === 'unauthenticated' && !isRefused && this.options.credentials.refuse(token)) {
          isRefused = true;
          continue;
        }
        // A request that exceeded a rate limit had no effect, so even `never` may repeat it.
        if (!error.retryable || (retry === 'never' && error.code !== 'rate_limited')) throw error;
        await backOff.next(error, { ...(signal && { signal }), atLeastMs: error.retryAfterMs ?? 0 });
      }
    }
  }

  private async sendOnce<T>(
    { path, method, body, read, ...request }: HttpRequest<T>,
    token: string,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const { workspace, fetch } = this.options;
    const headers: Record<string, string> = { authorization: `Bearer ${token}`, ...request.headers };
    if (workspace !== undefined) headers['x-workspace-id'] = workspace;
    const url = `${this.options.url}${path}`;
    const timeout = AbortSignal.timeout(request.timeoutMs ?? this.options.timeoutMs);
    const either = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
    try {
      const response = await fetch(url, { method, headers, signal: either, ...(body !== undefined && { body }) });
      return await read(response);
    } catch (cause) {
      if (cause instanceof NightshiftError) throw cause;
      const message = `The server at ${shownUrl(url)} could not be reached`;
      throw new NightshiftError(message, { code: 'connection_lost', retryable: true, cause });
    }
  }
}

/** The URL without its query, which may contain secrets. */
function shownUrl(url: string): string {
  if (!URL.canParse(url)) return url; // a page may use a path of its own server
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}

function dataOf(response: Response, text: string): unknown {
  const { data, errors } = parse(text) as Reply; // the fields of a GraphQL response, or none of them
  if (errors !== undefined && errors.length > 0) throw toError(errors[0]);
  if (data !== undefined && data !== null) return data;
  // Not a GraphQL response: it comes from a proxy, or from a check before the GraphQL endpoint.
  throw toHttpError(response, text);
}

/** The error of an unexpected response, with the fields of its body if that is one of our errors. */
export function toHttpError({ status, headers }: Response, text: string): NightshiftError {
  const { error, code, field, retryable, requestId } = parse(text);
  const retryAfter = Number(headers.get('retry-after') ?? NaN);
  return new NightshiftError(typeof error === 'string' ? error : `The server responded with HTTP status ${status}`, {
    code: typeof code === 'string' ? code : codeOf(status),
    field: typeof field === 'string' ? field : undefined,
    retryable: typeof retryable === 'boolean' ? retryable : status >= 500 || status === 429,
    retryAfterMs: Number.isFinite(retryAfter) ? retryAfter * 1_000 : undefined,
    requestId: typeof requestId === 'string' ? requestId : (headers.get('x-request-id') ?? undefined),
  });
}

function codeOf(status: number): string {
  if (status === 401) return 'unauthenticated';
  return status === 429 ? 'rate_limited' : 'bad_response';
}

function parse(text: string): Readonly<Record<string, unknown>> {
  try {
    const reply: unknown = JSON.parse(text);
    return typeof reply === 'object' && reply !== null ? { ...reply } : {};
  } catch {
    return {};
  }
}
