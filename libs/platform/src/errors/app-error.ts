/** The fields of every expected failure. `code` is snake_case and stable: clients and tables branch on it. */
export interface AppErrorInit {
  /** Stable, snake_case, documented in PROTOCOL.md. */
  readonly code: string;
  /** A sentence for a person. Never contains a secret, an id of another tenant, or the text of a library. */
  readonly message: string;
  /** True when the same request may succeed later without a change. */
  readonly retryable?: boolean;
  /** The invalid input field, as the client names it. */
  readonly field?: string;
  /** Seconds after which a retry makes sense. */
  readonly retryAfterSeconds?: number;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

/** The only error class of the libraries. One table maps `code` to HTTP and GraphQL; any other error is a bug. */
export class AppError extends Error {
  readonly code: string;
  readonly retryable: boolean;
  readonly field: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(init: AppErrorInit) {
    super(init.message, init.cause === undefined ? undefined : { cause: init.cause });
    this.name = 'AppError';
    this.code = init.code;
    this.retryable = init.retryable ?? false;
    this.field = init.field;
    this.retryAfterSeconds = init.retryAfterSeconds;
    this.details = init.details ?? {};
  }
}
