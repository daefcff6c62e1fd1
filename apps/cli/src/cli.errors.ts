import type { CommandLine } from './command-line.js';
import { type ExitCode, exitCodes } from './exit-code.js';

/** What the user can do about an error. A function writes the commands in it as they work when they are pasted. */
export type Remedy = string | ((command: CommandLine) => string);

interface CliErrorInit {
  readonly exitCode: ExitCode;
  /** Stable, for scripts: the server's own where it has refused. */
  readonly code: string;
  readonly message: string;
  readonly remedy?: Remedy | undefined;
}

/** Ends the command: one sentence gives the reason, another the next step. */
export class CliError extends Error {
  readonly exitCode: ExitCode;
  readonly code: string;
  readonly remedy: Remedy | undefined;

  constructor({ exitCode, code, message, remedy }: CliErrorInit) {
    super(message);
    this.name = 'CliError';
    this.exitCode = exitCode;
    this.code = code;
    this.remedy = remedy;
  }

  remedyWith(command: CommandLine): string | undefined {
    return typeof this.remedy === 'function' ? this.remedy(command) : this.remedy;
  }
}

/** The command line cannot be understood. */
export function usageError(message: string, remedy?: Remedy): CliError {
  return new CliError({ exitCode: exitCodes.usage, code: 'usage', message, remedy });
}

/** `what` begins the sentence. An absent row and one of another workspace read the same. */
export function notFound(what: string, remedy?: Remedy): CliError {
  return new CliError({
    exitCode: exitCodes.notFound,
    code: 'not_found',
    message: `${what} does not exist, or this credential may not read it.`,
    remedy,
  });
}
