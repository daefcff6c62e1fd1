/** `type` of an error as OpenAI clients branch on it. */
export type OpenAiErrorType = 'invalid_request_error' | 'rate_limit_error' | 'server_error';

/** The members of an error besides its message. `param` and `code` are null unless the contract names them. */
export interface OpenAiErrorInit {
  readonly status: number;
  readonly message: string;
  readonly param?: string | null;
  readonly code?: string | null;
  /** Seconds after which a retry makes sense. */
  readonly retryAfterSeconds?: number;
}

/** The body of an error: `{"error": …}` of a reply, or of the last chunk of a stream. */
export interface OpenAiErrorBody {
  readonly message: string;
  readonly type: OpenAiErrorType;
  readonly param: string | null;
  readonly code: string | null;
}

/** An expected failure under `/v1`, in the words that OpenAI clients know. Its `type` follows from its status. */
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

  /** As it is written to clients. */
  toBody(): OpenAiErrorBody {
    const { message, type, param, code } = this;
    return { message, type, param, code };
  }
}

function typeOf(status: number): OpenAiErrorType {
  if (status >= 500) return 'server_error';
  return status === 429 ? 'rate_limit_error' : 'invalid_request_error';
}
