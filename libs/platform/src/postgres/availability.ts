import { AppError } from '../errors/app-error.js';
import { DatabaseUnavailable } from './postgres.errors.js';

/** Class 08, the codes of a server that stops, starts or is full (PostgreSQL, appendix A), and the codes of sockets and of Prisma. */
const away = new Set([
  ...['57P01', '57P02', '57P03', '53300', '53400'],
  ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT'],
  ...['P1001', 'P1002', 'P1008', 'P1017', 'P2024', 'P2028', 'P2037'],
]);
/** Conflicts with concurrent transactions, and timeouts of locks and statements. */
const crossed = new Set(['40001', '40P01', '55P03', '57014', 'P2034']);
/** U+0000 in a text, or its escape in JSON. */
const unstorable = new Set(['22021', '22P05']);
/** The driver has no codes for these. */
const driverMessages =
  /^(connection terminated|client has encountered a connection error|timeout exceeded when trying to connect|query read timeout|cannot use a pool after)/i;

/** Returns `error`, or `unavailable` (retryable, 503) if the database cannot be reached or rejects connections. */
export function asAvailabilityError(error: unknown): unknown {
  return !(error instanceof AppError) && isAway(error) ? new DatabaseUnavailable(error) : error;
}

/**
 * The same for a caller that waits for a response: every transient failure becomes `unavailable`. A text that Postgres cannot store becomes
 * `bad_request`; an endpoint that checks its input names the field before.
 */
export function toCallerError(error: unknown): unknown {
  if (error instanceof AppError) return error;
  if (isTransient(error)) return new DatabaseUnavailable(error);
  return codesOf(error).some((code) => unstorable.has(code)) ? unstorableText(error) : error;
}

function unstorableText(cause: unknown): AppError {
  const message = 'A text contains U+0000, which cannot be stored or found. Remove it.';
  return new AppError({ code: 'bad_request', message, cause });
}

/**
 * Whether a failure of the database is transient: it was down or overloaded, or concurrent transactions locked the same rows. The same
 * statement may succeed a moment later.
 */
export function isTransient(error: unknown): boolean {
  if (error instanceof AppError) return error instanceof DatabaseUnavailable;
  return isAway(error) || isExpiredTransaction(error) || codesOf(error).some((code) => crossed.has(code));
}

function isAway(error: unknown): boolean {
  if (isExpiredTransaction(error)) return false;
  if (codesOf(error).some((code) => away.has(code) || code.startsWith('08'))) return true;
  return error instanceof Error && driverMessages.test(error.message);
}

/** P2028 is the code of a transaction that got no connection, and of one that ran too long: only the latter has the time that it took. */
function isExpiredTransaction(error: unknown): boolean {
  const { code, meta } = (error ?? {}) as { readonly code?: unknown; readonly meta?: DriverFailure };
  return code === 'P2028' && meta?.timeTaken !== undefined;
}

/** The error's own code, and the driver's code that Prisma wraps. */
function codesOf(error: unknown): readonly string[] {
  const { code, meta } = (error ?? {}) as { readonly code?: unknown; readonly meta?: DriverFailure };
  return [code, meta?.driverAdapterError?.cause?.originalCode].filter((one) => typeof one === 'string');
}

/** The SQLSTATE of a failed statement (PostgreSQL, appendix A); undefined for other failures. */
export function sqlState(error: unknown): string | undefined {
  return codesOf(error).find((code) => /^[0-9A-Z]{5}$/.test(code) && !/^P[12]\d{3}$/.test(code));
}

/** The name of the unique constraint or index that a statement violated. */
export function violatedConstraint(error: unknown): string | undefined {
  const { constraint, meta } = (error ?? {}) as { readonly constraint?: unknown; readonly meta?: DriverFailure };
  const name = constraint ?? meta?.driverAdapterError?.cause?.constraint?.index;
  return typeof name === 'string' ? name : undefined;
}

interface DriverFailure {
  /** Ms. */
  readonly timeTaken?: unknown;
  readonly driverAdapterError?: {
    readonly cause?: { readonly originalCode?: unknown; readonly constraint?: { readonly index?: unknown } };
  };
}
