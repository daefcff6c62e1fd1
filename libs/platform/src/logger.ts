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
/** Maximum characters that wait while standard error cannot be written; further lines are lost. */
const maxUnwrittenCharacters = 1_048_576;
let shared: LogDestination | undefined;

/**
 * Standard error. Each write is a system call, so the lines of one turn of the event loop are written together. If the reader of
 * standard error is gone, or the disk is full, the lines are lost and the process continues.
 */
function standardError(): LogDestination {
  if (shared !== undefined) return shared;
  const output = pino.destination({ dest: 2, sync: true, maxLength: maxUnwrittenCharacters });
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
      waiting += line;
      if (waiting.length >= maxWaitingCharacters) flushSync();
    },
  };
  return shared;
}

function describeError(error: unknown, redact: (text: string) => string): object {
  if (!(error instanceof Error)) return { message: redact(String(error)) };
  const { code } = error as { code?: unknown }; // errors of Node, pg and AppError have a code in this field
  return { name: error.name, code, message: redact(error.message), stack: redact(error.stack ?? '').slice(0, 4_000) };
}

/** Nest token of the process's logger. */
export const LOGGER = Symbol('Logger');
