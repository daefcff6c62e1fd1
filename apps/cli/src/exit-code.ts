/** How a command ended, for scripts. Stable: docs/cli.md lists them. */
export const exitCodes = {
  /** The command succeeded; a job that it followed has completed. */
  ok: 0,
  /** The job failed or was cancelled, the workflow is not valid, a check did not pass, the server refused. */
  failed: 1,
  /** The command line, or a file it names, cannot be understood. */
  usage: 2,
  /** No credential, one that does not hold, or one that may not do this. */
  auth: 3,
  /** The resource does not exist, or this credential may not read it. */
  notFound: 4,
  /** The server cannot be reached, went away, or reports that it cannot serve now. */
  network: 5,
  /** A job waits for a person, and the command has no terminal to prompt on. */
  waiting: 6,
  /** Ctrl-C. A job that was followed keeps running, unless --cancel-on-exit was given. */
  interrupted: 130,
  /** The reader of the output has stopped reading. */
  brokenPipe: 141,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];
