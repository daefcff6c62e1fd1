/** The details of a `NightshiftError` besides its message. */
export interface NightshiftErrorInit {
  readonly code: string;
  readonly field?: string | undefined;
  readonly requestId?: string | undefined;
  readonly retryable?: boolean;
  readonly retryAfterMs?: number | undefined;
  readonly issues?: readonly string[];
  readonly cause?: unknown;
}

/**
 * Every error that this package rejects with, except for the reason of an abort signal. `code` is stable and snake_case: the server's
 * (PROTOCOL.md lists them), the code of a failed job, or one of this package's own: `connection_lost`, `bad_response`,
 * `token_unavailable`, `no_websocket`, `closed`.
 */
export class NightshiftError extends Error {
  override readonly name = 'NightshiftError';
  readonly code: string;
  /** The input field at fault, if the error is about one. */
  readonly field: string | undefined;
  /** Identifies the request in the server's log. */
  readonly requestId: string | undefined;
  /** Whether the same request may succeed later without a change. The value comes from the server. */
  readonly retryable: boolean;
  /** How long the server asks the client to wait before a retry. */
  readonly retryAfterMs: number | undefined;
  /** Detailed problems, one sentence each. */
  readonly issues: readonly string[];

  constructor(message: string, init: NightshiftErrorInit) {
    super(message, init.cause === undefined ? undefined : { cause: init.cause });
    this.code = init.code;
    this.field = init.field;
    this.requestId = init.requestId;
    this.retryable = init.retryable ?? false;
    this.retryAfterMs = init.retryAfterMs;
    this.issues = init.issues ?? [];
  }
}
