#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

import { readEnvironmentFile } from '../launcher/src/environment-file.js';
import { readEnvironment } from './src/environment.js';
import { exitCodes } from './src/exit-code.js';
import { runCli } from './src/program/cli.js';
import { assumeSize } from './src/terminal/assume-size.js';

// Only users who can change the code can write to this folder. If it is read-only, no cache is used.
enableCompileCache(fileURLToPath(new URL('../../.cache', import.meta.url)));

// The reader has closed the pipe, as in `nightshift logs JOB | head`.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(exitCodes.brokenPipe);
    throw error;
  });
  assumeSize(stream);
}

/** Compiled, this file lies three folders below the root. */
const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
  version: string;
}; // npm does not install it without one

readEnvironmentFile(process.cwd()); // for this process, and for those that it starts
process.exitCode = await runCli({
  words: process.argv.slice(2),
  environment: readEnvironment(),
  version,
  input: process.stdin,
  out: process.stdout,
  errors: process.stderr,
});
