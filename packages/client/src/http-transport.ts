import { BackOff, type BackOffOptions } from './back-off.js';
import type { Credentials } from './credentials.js';
import { NightshiftError } from './nightshift-error.js';
import { type GraphqlFault, toError } from './to-failure.js';
import type { TypedDocument } from './typed-document.js';

export interface HttpTransportOptions {
  /** Of GraphQL. */
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
 * What to do when an answer is lost: `never` ask again, where asking twice is not what asking once is; `briefly`, for seconds; or
 * `patiently`, for as long as lost connections are taken up again.
 */
export type Retry = 'never' | 'briefly' | 'patiently';

interface Reply {
  readonly data?: unknown;
  readonly errors?: readonly GraphqlFault[];
}

/** How often a request is tried briefly: for some ten seconds. */
const mostAttempts = 8;

/** Queries and mutations, each a POST. */
export class HttpTransport {
  constructor(private readonly options: HttpTransportOptions) {}

  /** Gives the data, all of it. Rejects with a `NightshiftError`, or with the reason of `signal`. */
  async execute<TResult, TVariables>(
    document: TypedDocument<TResult, TVariables>,
    variables: TVariables,
    { signal, retry }: ExecuteOptions,
  ): Promise<TResult> {
    const { backOff: terms } = this.options;
    const attempts = Math.min(terms.attempts ?? Infinity, retry === 'patiently' ? Infinity : mostAttempts);
    const backOff = new BackOff({ ...terms, attempts });
    const body = JSON.stringify({ query: document.toString(), variables });
    let isRefused = false;
    for (;;) {
      signal?.throwIfAborted();
      const token = await this.options.credentials.token();
      try {
        return (await this.post(body, token, signal)) as TResult; // the document determines the type of the result
      } catch (error) {
        signal?.throwIfAborted();
        if (!(error instanceof NightshiftError)) throw error;
        if (error.code === 'unauthenticated' && !isRefused && this.options.credentials.refuse(token)) {
          isRefused = true;
          continue;
        }
        // What was refused for its rate was not done.
        if (!error.retryable || (retry === 'never' && error.code !== 'rate_limited')) throw error;
        await backOff.next(error, { ...(signal && { signal }), atLeastMs: error.retryAfterMs ?? 0 });
      }
    }
  }

  private async post(body: string, token: string, signal: AbortSignal | undefined): Promise<unknown> {
    const { url, workspace, timeoutMs, fetch } = this.options;
    const headers: Record<string, string> = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/graphql-response+json, application/json',
    };
    if (workspace !== undefined) headers['x-workspace-id'] = workspace;
    const timeout = AbortSignal.timeout(timeoutMs);
    const either = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
    let response: Response;
    let text: string;
    try {
      response = await fetch(url, { method: 'POST', headers, body, signal: either });
      text = await response.text();
    } catch (cause) {
      const message = `The server at ${shownUrl(url)} could not be reached`;
      throw new NightshiftError(message, { code: 'connection_lost', retryable: true, cause });
    }
    return dataOf(response, text);
  }
}

/** Without what may be secret in it. */
function shownUrl(url: string): string {
  if (!URL.canParse(url)) return url; // a page may ask its own server by a path
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}

function dataOf(response: Response, text: string): unknown {
  const { data, errors } = parse(text);
  const retryAfter = Number(response.headers.get('retry-after') ?? NaN);
  if (errors !== undefined && errors.length > 0) throw toError(errors[0]);
  if (data !== undefined && data !== null) return data;
  // Not a GraphQL response: it comes from a proxy, or from a check before the GraphQL endpoint.
  throw new NightshiftError(`The server answered ${response.status}`, {
    code: response.status === 401 ? 'unauthenticated' : response.status === 429 ? 'rate_limited' : 'bad_response',
    retryable: response.status >= 500 || response.status === 429,
    retryAfterMs: Number.isFinite(retryAfter) ? retryAfter * 1_000 : undefined,
    requestId: response.headers.get('x-request-id') ?? undefined,
  });
}

function parse(text: string): Reply {
  try {
    const reply: unknown = JSON.parse(text);
    return typeof reply === 'object' && reply !== null ? reply : {};
  } catch {
    return {};
  }
}
