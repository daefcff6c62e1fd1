import type { LoggerService } from '@nestjs/common';

import type { Logger } from '#platform';

/** Writes Nest's own messages to our log; operators do not need its messages during startup. */
export class NestLogger implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log(message: unknown): void {
    this.logger.debug({ nest: toText(message) }, 'nest');
  }

  debug(message: unknown): void {
    this.logger.trace({ nest: toText(message) }, 'nest');
  }

  warn(message: unknown): void {
    this.logger.warn({ nest: toText(message) }, 'nest');
  }

  error(message: unknown): void {
    // `listen` also rejects with this error, and the launcher prints it as a sentence.
    if (toText(message).startsWith('Error: listen ')) return;
    this.logger.error(message instanceof Error ? { err: message } : { nest: toText(message) }, 'nest');
  }

  fatal(message: unknown): void {
    this.error(message);
  }
}

function toText(message: unknown): string {
  return typeof message === 'string' ? message : String(message);
}
