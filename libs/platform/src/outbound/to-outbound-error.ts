import { AppError } from '../errors/app-error.js';
import { addressRefused, answerBroken, answerTooLarge, requestInvalid, unreachable } from './outbound.errors.js';

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
