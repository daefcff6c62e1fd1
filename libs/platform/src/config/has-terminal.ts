/**
 * Whether this process prints to a terminal: standard output or standard error. It stays true when the terminal is closed, because Node
 * looks when it opens the streams.
 */
export function hasTerminal(): boolean {
  return process.stdout.isTTY || process.stderr.isTTY;
}
