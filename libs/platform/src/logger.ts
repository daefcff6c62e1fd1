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
const maxWaitingCharacters = 8_192;
let shared: DestinationStream | undefined;

/** Standard error. Each write is a system call, so the lines of one turn of the event loop are written together. */
function standardError(): DestinationStream {
  if (shared !== undefined) return shared;
  const output = pino.destination({ dest: 2, sync: true, minLength: maxWaitingCharacters });
  let isScheduled = false;
  const flush = () => {
    isScheduled = false;
    output.flushSync();
  };
  process.once('exit', flush);
  shared = {
    write: (line) => {
      output.write(line);
      if (isScheduled) return;
      isScheduled = true;
      setImmediate(flush);
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
