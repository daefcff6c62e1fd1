import { AppError } from '../errors/app-error.js';
import { databaseUnavailable } from './postgres.errors.js';

/** Class 08 and the codes of a server that stops, starts or is full (PostgreSQL, appendix A), sockets, Prisma's own. */
const CODES = new Set([
  '57P01',
  '57P02',
  '57P03',
  '53300',
  '53400',
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
]);
const PRISMA_CODES = new Set(['P1001', 'P1002', 'P1008', 'P1017', 'P2024', 'P2028', 'P2037']);
/** The driver has no codes for these. */
const SAID_BY_THE_DRIVER =
  /^(connection terminated|client has encountered a connection error|timeout exceeded when trying to connect|query read timeout|cannot use a pool after)/i;

/** `error`, or `unavailable` (retryable, 503) when it only says that the database is away or has no room. */
export function asAvailabilityError(error: unknown): unknown {
  return !(error instanceof AppError) && isUnavailable(error) ? databaseUnavailable(error) : error;
}

function isUnavailable(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (CODES.has(code) || PRISMA_CODES.has(code) || code.startsWith('08')) return true;
  return 'message' in error && typeof error.message === 'string' && SAID_BY_THE_DRIVER.test(error.message);
}
