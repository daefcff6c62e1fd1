import type { ExitCode } from '../exit-code.js';

/** What one look came to. */
export interface Check {
  readonly name: string;
  readonly state: 'ok' | 'warning' | 'failed' | 'unknown';
  /** One line. */
  readonly detail: string;
  /** What to do about it. */
  readonly remedy?: string | undefined;
  /** Where it is not the usual one of a failed check. */
  readonly exitCode?: ExitCode | undefined;
}
