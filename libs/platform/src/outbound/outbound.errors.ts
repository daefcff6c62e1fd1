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

/** A request was not sent, or its response did not arrive. Messages contain no addresses, because they would help a port scan. */
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

/** The address is not public, or the name has no public address. */
export function addressRefused(cause?: unknown): OutboundError {
  const message = 'This address is not public. Use a public address.';
  return new OutboundError({ code: 'address_refused', message, cause });
}

/** The URL itself is not allowed. */
export function urlRefused(message: string): OutboundError {
  return new OutboundError({ code: 'outbound_url_refused', message });
}

/** The operator's list of ports does not contain this port. */
export function portRefused(port: number, allowed: Iterable<number>): OutboundError {
  const message = `The port ${port} is not allowed. Use one of these: ${[...allowed].join(', ')}.`;
  return new OutboundError({ code: 'outbound_port_refused', message });
}

/** The workspace's list of hosts does not contain this host. */
export function hostRefused(host: string): OutboundError {
  const message = `The host ${host} is not on the list of allowed hosts of this workspace. An admin can add it.`;
  return new OutboundError({ code: 'outbound_host_refused', message });
}

/** The response is a redirect that the client does not follow. */
export function redirectRefused(why: string): OutboundError {
  return new OutboundError({ code: 'outbound_redirect_refused', message: `The server redirects, ${why}.` });
}

/** The method, headers or body cannot be sent. */
export function requestInvalid(cause?: unknown): OutboundError {
  const message = 'The request cannot be sent: its method or a header contains characters that are not allowed there.';
  return new OutboundError({ code: 'outbound_request_invalid', message, cause });
}

/** The stages with a timeout. */
export type OutboundStage = 'first_byte' | 'idle' | 'total';

/** The server exceeded a timeout. */
export function outboundTimedOut(stage: OutboundStage, afterMs: number): OutboundError {
  const what = {
    first_byte: 'did not begin its response',
    idle: 'stopped sending in the middle of its response',
    total: 'did not finish its response',
  }[stage];
  const message = `The server ${what} within ${afterMs} ms.`;
  return new OutboundError({ code: 'outbound_timeout', message, retryable: true });
}

/** The connection failed, or broke before the response. */
export function unreachable(cause: unknown): OutboundError {
  const message = 'The server cannot be reached. Check the address, or try again later.';
  return new OutboundError({ code: 'outbound_unreachable', message, retryable: true, cause });
}

/** The response began and could not be read to its end. */
export function responseBroken(cause?: unknown): OutboundError {
  const message = "The server's response broke off or cannot be read.";
  return new OutboundError({ code: 'outbound_broken', message, retryable: true, cause });
}

/** The headers or the body of the response exceed the size limit. */
export function responseTooLarge(what: 'headers' | 'answer'): OutboundError {
  const message = `The server's ${what === 'headers' ? 'headers are' : 'response is'} larger than allowed.`;
  return new OutboundError({ code: 'outbound_too_large', message });
}

/** The name does not exist or has no address. A tenant gets the same error as for an address that is not public. */
const NO_ADDRESS = new Set(['ENOTFOUND', 'ENODATA']);

/**
 * Converts an error of an exchange: the reason of an abort and errors of this module stay unchanged, and all errors of undici, the resolver
 * and zlib become one of a few kinds. The original texts contain addresses, so they are only in `cause`.
 */
export function toOutboundError(error: unknown, signal: AbortSignal, stage: 'asking' | 'reading'): unknown {
  if (signal.aborted) return signal.reason;
  const own = [error, causeOf(error)].find((one) => one instanceof AppError);
  if (own !== undefined) return own;
  const code = codeOf(error);
  if (NO_ADDRESS.has(code)) return addressRefused(error);
  if (code === 'UND_ERR_HEADERS_OVERFLOW' || code === 'HPE_HEADER_OVERFLOW') return responseTooLarge('headers');
  if (code === 'UND_ERR_INVALID_ARG') return requestInvalid(error);
  return stage === 'asking' && !code.startsWith('HPE_') ? unreachable(error) : responseBroken(error);
}

function causeOf(error: unknown): unknown {
  return error instanceof Error ? error.cause : undefined;
}

function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
}
