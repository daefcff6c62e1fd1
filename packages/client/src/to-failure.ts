import { NightshiftError } from './nightshift-error.js';

/** An entry of `errors`, with the fields that the client reads. */
export interface GraphqlFault {
  readonly message: string;
  readonly extensions?: Readonly<Record<string, unknown>>;
}

/** An entry of `userErrors`. */
export interface Refusal {
  readonly code: string;
  readonly field?: string | null;
  readonly message: string;
  readonly issues?: readonly string[];
  readonly retryable: boolean;
}

/** Converts an entry of `errors`. `reason` is the exact code, `code` a general class. */
export function toError(fault: GraphqlFault | undefined): NightshiftError {
  const { code, reason, field, requestId, retryable, retryAfterSeconds } = fault?.extensions ?? {};
  const name = textOf(reason) ?? textOf(code)?.toLowerCase() ?? 'internal';
  return new NightshiftError(fault?.message ?? 'The response of the server has no data and no errors', {
    code: name,
    field: textOf(field),
    requestId: textOf(requestId),
    // A response without errors and data comes from a broken server or a proxy.
    retryable: fault === undefined || retryable === true,
    retryAfterMs: typeof retryAfterSeconds === 'number' ? retryAfterSeconds * 1_000 : undefined,
  });
}

/** Converts an entry of `userErrors`. */
export function toRefusal({ code, field, message, issues = [], retryable }: Refusal): NightshiftError {
  return new NightshiftError(message, { code, field: field ?? undefined, issues, retryable });
}

/** Throws the first error of a payload. */
export function assertTaken(payload: { readonly userErrors: readonly Refusal[] }): void {
  const [refusal] = payload.userErrors;
  if (refusal !== undefined) throw toRefusal(refusal);
}

/** Converts the end of a subscription: an error of the server, the close of the socket, or an error of this client. */
export function toSocketError(thrown: unknown): NightshiftError {
  if (thrown instanceof NightshiftError) return thrown;
  if (Array.isArray(thrown)) return toError(thrown[0] as GraphqlFault | undefined); // graphql-ws passes the errors of the server
  if (isCloseEvent(thrown)) return ofClose(thrown);
  return new NightshiftError('The connection was lost', { code: 'connection_lost', retryable: true, cause: thrown });
}

interface CloseLike {
  readonly code: number;
  readonly reason: string;
}

function ofClose({ code, reason }: CloseLike): NightshiftError {
  const final = closings[code];
  const message = `The server closed the connection (${code}${reason === '' ? '' : `: ${reason}`})`;
  return new NightshiftError(message, { code: final ?? 'connection_lost', retryable: final === undefined });
}

/** Close codes after which the same settings cannot connect again; PROTOCOL.md lists them. */
const closings: Readonly<Record<number, string>> = {
  1009: 'too_large',
  4400: 'bad_request',
  4401: 'unauthenticated',
  4403: 'forbidden',
  4406: 'bad_request',
  4409: 'conflict',
};

function isCloseEvent(value: unknown): value is CloseLike {
  return typeof value === 'object' && value !== null && 'code' in value && 'reason' in value;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
