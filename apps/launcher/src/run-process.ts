import { awakeTimeout, hasTerminal, processEnvironment, systemClock } from '#platform';

import { readEnvironmentFile } from './environment-file.js';
import { launch } from './launch.js';
import type { RoleStarters } from './running-role.js';
import { Terminal } from './terminal/terminal.js';

/** How long a process may take to exit after it has stopped everything. */
const LINGER_MS = 1_000;

/** Runs this process as its command line and environment define. The entry point passes the roles that it can start. */
export async function runProcess(roles: RoleStarters): Promise<void> {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', ignoreClosedOutput);
  readEnvironmentFile(process.cwd());
  const environment = processEnvironment();
  const noColor = (environment['NO_COLOR'] ?? '') !== '';
  process.exitCode = await launch({
    words: process.argv.slice(2),
    environment,
    roles,
    out: new Terminal(process.stdout, { noColor }),
    errors: new Terminal(process.stderr, { noColor }),
    logsGoToTerminal: process.stderr.isTTY,
    stopsAtHangUp: hasTerminal(),
  });
  // A resource that still keeps the process alive is a leak. Tests fail on its name; users do not wait for it.
  awakeTimeout(systemClock, LINGER_MS, () => {
    const leaks = process.getActiveResourcesInfo().join(', ');
    if (environment['NODE_ENV'] === 'test') process.stderr.write(`Still open after the stop: ${leaks}\n`);
    process.exit();
  });
}

/**
 * The reader of the output may end first: a pipe (EPIPE), as in `npm start | head`, or the terminal (EIO). The server then keeps running, or
 * stops in order, without printing.
 */
function ignoreClosedOutput(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error;
}
