/** The `type` of an error, which OpenAI clients branch on. */
export type OpenAiErrorType = 'invalid_request_error' | 'rate_limit_error' | 'server_error';

/** The members of an error besides its message. `param` and `code` are null unless the contract names them. */
export interface OpenAiErrorInit {
  readonly status: number;
  readonly message: string;
  readonly param?: string | null;
  readonly code?: string | null;
  /** Seconds that the client should wait before a retry. */
  readonly retryAfterSeconds?: number;
}

/** The body of an error: `{"error": …}` in a response, or in the last chunk of a stream. */
export interface OpenAiErrorBody {
  readonly message: string;
  readonly type: OpenAiErrorType;
  readonly param: string | null;
  readonly code: string | null;
}

/** An expected failure under `/v1`, with the fields that OpenAI clients know. `type` follows from `status`. */
export class OpenAiError extends Error {
  readonly status: number;
  readonly type: OpenAiErrorType;
  readonly param: string | null;
  readonly code: string | null;
  readonly retryAfterSeconds: number | undefined;

  constructor({ status, message, param = null, code = null, retryAfterSeconds }: OpenAiErrorInit) {
    super(message);
    this.name = 'OpenAiError';
    this.status = status;
    this.type = typeOf(status);
    this.param = param;
    this.code = code;
    this.retryAfterSeconds = retryAfterSeconds;
  }

  /** The body that clients receive. */
  toBody(): OpenAiErrorBody {
    const { message, type, param, code } = this;
    return { message, type, param, code };
  }
}

function typeOf(status: number): OpenAiErrorType {
  if (status >= 500) return 'server_error';
  return status === 429 ? 'rate_limit_error' : 'invalid_request_error';
}
