import { isatty } from 'node:tty';

/**
 * Whether standard input, output or error of this process is a terminal. `nohup` replaces all three on Linux; on macOS it keeps the input. Call
 * it before the terminal can close.
 */
export function hasTerminal(): boolean {
  return isatty(0) || process.stdout.isTTY || process.stderr.isTTY;
}
