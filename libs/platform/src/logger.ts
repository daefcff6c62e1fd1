import { type DestinationStream, type Logger as PinoLogger, pino } from 'pino';

/** Structured logs: one JSON object per line, with ids and sizes, never contents or secrets. */
export type Logger = PinoLogger;

/** `redact` is applied to every text value before it is written (see `Redactor`). */
export function createLogger(options: { readonly level: string; readonly redact?: (text: string) => string }): Logger {
  const redact = options.redact ?? ((text: string) => text);
  return pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: (error: unknown) => describeError(error, redact) },
    },
    standardError(),
  );
}

/** Maximum characters that wait for the end of a turn of the event loop. */
const maxWaitingCharacters = 65_536;
/** pino calls `flushSync` after a fatal error. */
type LogDestination = DestinationStream & { readonly flushSync: () => void };
/** Maximum bytes that wait while standard error cannot be written; further lines are lost, as is a line that is longer. */
const maxUnwrittenBytes = 1_048_576;
let shared: LogDestination | undefined;

/**
 * Standard error. Each write is a system call, so the lines of one turn of the event loop are written together. The process
 * continues if the reader of standard error is gone, or the disk is full.
 */
function standardError(): LogDestination {
  if (shared !== undefined) return shared;
  const output = pino.destination({ dest: 2, sync: true, maxLength: maxUnwrittenBytes });
  output.on('error', () => undefined);
  let waiting = '';
  const flushSync = () => {
    const lines = waiting;
    waiting = '';
    if (lines !== '') output.write(lines);
  };
  process.once('exit', flushSync);
  shared = {
    flushSync,
    write: (line) => {
      if (waiting === '') setImmediate(flushSync);
      if (waiting.length + line.length > maxWaitingCharacters) flushSync(); // so that a line that is too long is lost alone
      waiting += line;
      if (waiting.length >= maxWaitingCharacters) flushSync();
    },
  };
  return shared;
}

/** Maximum characters of the message of an error, and of its stack. */
const maxErrorCharacters = 4_000;

function describeError(error: unknown, redact: (text: string) => string): object {
  const cut = (text: string) => redact(text).slice(0, maxErrorCharacters);
  if (!isErrorLike(error)) return { message: cut(String(error)) };
  const { name, code, message, stack } = error; // errors of Node, pg and AppError have a code
  return { name, code, message: cut(message), stack: typeof stack === 'string' ? cut(stack) : '' };
}

/** The fields of an error. pg-boss emits some errors as plain objects with them. */
interface ErrorLike {
  readonly message: string;
  readonly name?: unknown;
  readonly code?: unknown;
  readonly stack?: unknown;
}

function isErrorLike(error: unknown): error is ErrorLike {
  return typeof error === 'object' && error !== null && 'message' in error && typeof error.message === 'string';
}

/** Nest token of the process's logger. */
export const LOGGER = Symbol('Logger');
