import type { Nightshift } from '@nightshift/client';

import type { CommandLine } from './command-line.js';
import type { Connection } from './connection.js';
import type { CliEnvironment } from './environment.js';
import type { ExitCode } from './exit-code.js';
import type { Screen } from './terminal/screen.js';

/** What every command works with. */
export interface Context {
  readonly screen: Screen;
  readonly environment: CliEnvironment;
  /** Writes a command for the user to paste. */
  readonly command: CommandLine;
  /** Whether results are lines of JSON. */
  readonly json: boolean;
  /** `--data-dir`, else DATA_DIR. */
  readonly dataDir: string | undefined;
  /** One value, one line, on standard output. */
  readonly emit: (value: object) => void;
  /** Resolves the URL and the credential; sends no request. */
  readonly connection: () => Promise<Connection>;
  /** Returns the same one each time. Throws without a credential. */
  readonly client: () => Promise<Nightshift>;
}

/** A command returns its exit code; its caller prints what it throws. */
export type Command = (context: Context) => Promise<ExitCode>;
