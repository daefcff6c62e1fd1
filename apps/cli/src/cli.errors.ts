import { type ExitCode, exitCodes } from './exit-code.js';

interface CliErrorInit {
  readonly exitCode: ExitCode;
  /** Stable, for scripts: the server's own where it has refused. */
  readonly code: string;
  readonly message: string;
  /** What to do about it. */
  readonly remedy?: string | undefined;
}

/** The command ends here: one sentence says why, another what to do. */
export class CliError extends Error {
  readonly exitCode: ExitCode;
  readonly code: string;
  readonly remedy: string | undefined;

  constructor({ exitCode, code, message, remedy }: CliErrorInit) {
    super(message);
    this.name = 'CliError';
    this.exitCode = exitCode;
    this.code = code;
    this.remedy = remedy;
  }
}

/** The command line cannot be understood. */
export function usageError(message: string, remedy?: string): CliError {
  return new CliError({ exitCode: exitCodes.usage, code: 'usage', message, remedy });
}

/** There is none, or none that this credential may see: both read the same. */
export function notFound(what: string, remedy?: string): CliError {
  return new CliError({ exitCode: exitCodes.notFound, code: 'not_found', message: `There is no ${what}.`, remedy });
}
