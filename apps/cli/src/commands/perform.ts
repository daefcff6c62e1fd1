import type { Command } from '../context.js';

/** Runs a command with a context made of the flags, prints errors, and sets the exit code of the process. */
export type Perform = (command: Command) => Promise<void>;
