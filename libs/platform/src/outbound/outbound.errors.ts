import { AppError } from '../errors/app-error.js';

/** Every way in which an outbound request fails. Stable. */
export type OutboundErrorCode =
  | 'address_refused'
  | 'outbound_url_refused'
  | 'outbound_port_refused'
  | 'outbound_host_refused'
  | 'outbound_redirect_refused'
  | 'outbound_request_invalid'
  | 'outbound_timeout'
  | 'outbound_unreachable'
  | 'outbound_broken'
  | 'outbound_too_large';

/** A request was not sent, or its response did not arrive. No message contains an address: that would answer a port scan. */
export class OutboundError extends AppError {
  override readonly code: OutboundErrorCode;

  constructor(init: {
    readonly code: OutboundErrorCode;
    readonly message: string;
    readonly retryable?: boolean;
    readonly cause?: unknown;
  }) {
    super(init);
    this.code = init.code;
    this.name = 'OutboundError';
  }
}

/** An address that tenants may not make us connect to, or a name without any other. */
export function addressRefused(cause?: unknown): OutboundError {
  const message = 'This address is not public. Use a public address.';
  return new OutboundError({ code: 'address_refused', message, cause });
}

/** The URL itself is not one that we ask. */
export function urlRefused(message: string): OutboundError {
  return new OutboundError({ code: 'outbound_url_refused', message });
}

/** The operator has a list of ports, and this one is not on it. */
export function portRefused(port: number, allowed: Iterable<number>): OutboundError {
  const message = `The port ${port} is not allowed. Use one of these: ${[...allowed].join(', ')}.`;
  return new OutboundError({ code: 'outbound_port_refused', message });
}

/** The workspace has a list of hosts, and this one is not on it. */
export function hostRefused(host: string): OutboundError {
  const message = `The host ${host} is not on the list of allowed hosts of this workspace.`;
  return new OutboundError({ code: 'outbound_host_refused', message });
}

/** The answer sends us on, and we do not go. */
export function redirectRefused(why: string): OutboundError {
  return new OutboundError({ code: 'outbound_redirect_refused', message: `The server redirects, ${why}.` });
}

/** Method, headers or body cannot be sent as they are. */
export function requestInvalid(cause?: unknown): OutboundError {
  const message = 'The request cannot be sent: its method or a header holds characters that are not allowed there.';
  return new OutboundError({ code: 'outbound_request_invalid', message, cause });
}

/** The stages that have a time limit. */
export type OutboundStage = 'first_byte' | 'idle' | 'total';

/** The server is slower than allowed. */
export function outboundTimedOut(stage: OutboundStage, afterMs: number): OutboundError {
  const what = {
    first_byte: 'did not begin to answer',
    idle: 'fell silent in the middle of its answer',
    total: 'did not finish its answer',
  }[stage];
  const message = `The server ${what} within ${afterMs} ms.`;
  return new OutboundError({ code: 'outbound_timeout', message, retryable: true });
}

/** No connection, or one that broke before the answer. */
export function unreachable(cause: unknown): OutboundError {
  const message = 'The server cannot be reached. Check the address, or try again later.';
  return new OutboundError({ code: 'outbound_unreachable', message, retryable: true, cause });
}

/** The answer began and cannot be read to its end. */
export function answerBroken(cause?: unknown): OutboundError {
  const message = "The server's answer broke off or cannot be read.";
  return new OutboundError({ code: 'outbound_broken', message, retryable: true, cause });
}

/** The headers or the body of the response exceed the size limit. */
export function answerTooLarge(what: 'headers' | 'answer'): OutboundError {
  const message = `The server's ${what === 'headers' ? 'headers are' : 'answer is'} larger than allowed.`;
  return new OutboundError({ code: 'outbound_too_large', message });
}

/** No such name, or a name without an address: to a tenant both are the same as an address that is not public. */
const NO_ADDRESS = new Set(['ENOTFOUND', 'ENODATA']);

/**
 * What an exchange failed with, in our words: the reason of an abort as it is, our own errors, and one of a few kinds for
 * everything that undici, the resolver and zlib may say. Their own texts name addresses and stay in `cause`.
 */
export function toOutboundError(error: unknown, signal: AbortSignal, stage: 'asking' | 'reading'): unknown {
  if (signal.aborted) return signal.reason;
  const own = [error, causeOf(error)].find((one) => one instanceof AppError);
  if (own !== undefined) return own;
  const code = codeOf(error);
  if (NO_ADDRESS.has(code)) return addressRefused(error);
  if (code === 'UND_ERR_HEADERS_OVERFLOW' || code === 'HPE_HEADER_OVERFLOW') return answerTooLarge('headers');
  if (code === 'UND_ERR_INVALID_ARG') return requestInvalid(error);
  return stage === 'asking' && !code.startsWith('HPE_') ? unreachable(error) : answerBroken(error);
}

function causeOf(error: unknown): unknown {
  return error instanceof Error ? error.cause : undefined;
}

function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
}
