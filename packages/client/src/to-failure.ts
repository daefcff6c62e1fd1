import { NightshiftError } from './nightshift-error.js';

/** One entry of `errors`, as far as it is looked at. */
export interface GraphqlFault {
  readonly message: string;
  readonly extensions?: Readonly<Record<string, unknown>>;
}

/** One entry of `userErrors`. */
export interface Refusal {
  readonly code: string;
  readonly field?: string | null;
  readonly message: string;
  readonly issues?: readonly string[];
  readonly retryable: boolean;
}

/** An entry of `errors` as ours. `reason` is the exact code, `code` one of a few classes. */
export function toError(fault: GraphqlFault | undefined): NightshiftError {
  const { code, reason, field, requestId, retryable, retryAfterSeconds } = fault?.extensions ?? {};
  const name = textOf(reason) ?? textOf(code)?.toLowerCase() ?? 'internal';
  return new NightshiftError(fault?.message ?? 'The server gave no answer', {
    code: name,
    field: textOf(field),
    requestId: textOf(requestId),
    // A response without errors and data comes from a broken server or a proxy.
    retryable: fault === undefined || retryable === true,
    retryAfterMs: typeof retryAfterSeconds === 'number' ? retryAfterSeconds * 1_000 : undefined,
  });
}

/** An entry of `userErrors` as ours. */
export function toRefusal({ code, field, message, issues = [], retryable }: Refusal): NightshiftError {
  return new NightshiftError(message, { code, field: field ?? undefined, issues, retryable });
}

/** Throws the first refusal of a payload. */
export function assertTaken(payload: { readonly userErrors: readonly Refusal[] }): void {
  const [refusal] = payload.userErrors;
  if (refusal !== undefined) throw toRefusal(refusal);
}

/** What a subscription ended with: refusals of the server, the end of its socket, or something of our own. */
export function toSocketError(thrown: unknown): NightshiftError {
  if (thrown instanceof NightshiftError) return thrown;
  if (Array.isArray(thrown)) return toError(thrown[0] as GraphqlFault | undefined); // graphql-ws: the errors of the server
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

/** Close codes after which a reconnect with the same settings cannot succeed; PROTOCOL.md lists them. */
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
