import { fileURLToPath } from 'node:url';

import type { Command } from 'commander';

import { serveCommand, type ServeOptions } from '../../../launcher/src/serve-command.js';
import type { ExitCode } from '../exit-code.js';
import type { Perform } from './perform.js';

/** The server's entry, beside which this program is compiled. Only `serve` loads it. */
const entry = new URL('../../../main.js', import.meta.url);

/** `serve`: becomes the server. Settings of the server come from the environment, not from the flags of other commands. */
export function addServe(program: Command, perform: Perform): void {
  program.addCommand(
    serveCommand()
      .copyInheritedSettings(program)
      .action((options: ServeOptions) =>
        perform(async ({ dataDir, environment }) => {
          // The command line ends when its reader closes the pipe. The server keeps running.
          for (const stream of [process.stdout, process.stderr]) stream.removeAllListeners('error');
          // DATA_DIR is no flag, which --ephemeral would refuse.
          const folder = dataDir === environment.dataDir ? undefined : dataDir;
          process.argv = [process.execPath, fileURLToPath(entry), ...toFlags({ ...options, dataDir: folder })];
          await import(entry.href);
          return process.exitCode as ExitCode; // of the server: 0 stopped as asked, 1 failed, 2 wrong flags or settings
        }),
      ),
  );
}

function toFlags({ role, port, dataDir, sample, once, ephemeral }: ServeOptions): string[] {
  const values = Object.entries({ '--role': role, '--port': port, '--data-dir': dataDir });
  const given = values.flatMap(([flag, value]) => (value === undefined ? [] : [`${flag}=${value}`]));
  const switches = { '--no-sample': !sample, '--once': once === true, '--ephemeral': ephemeral === true };
  return [...given, ...Object.entries(switches).flatMap(([flag, isOn]) => (isOn ? [flag] : []))];
}
