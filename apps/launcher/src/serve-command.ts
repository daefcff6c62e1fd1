import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';

/** The options of the command line; absent values come from the environment. */
export interface ServeOptions {
  readonly role?: string;
  readonly port?: string;
  readonly dataDir?: string | undefined;
  /** Whether the sample job runs after the start. */
  readonly sample: boolean;
  /** Whether to stop after the sample job. */
  readonly once?: true;
  /** Use a temporary data directory and delete it at the end. */
  readonly ephemeral?: true;
}

/** The command line is invalid; the message describes a valid one. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UsageError';
  }
}

const settings = `
Settings come from environment variables; docs/configuration.md lists all of them. The first ones that you need:
  DATABASE_URL       use this Postgres instead of the embedded one
  OPENROUTER_API_KEY, OPENAI_API_KEY or MODEL_BASE_URL (with MODEL_API_KEY, MODEL_NAME)
                     use this model provider instead of the demo model
  NIGHTSHIFT_SECRET  at least 32 characters, the same for all processes of an installation`;

/** `nightshift serve`, which `npm start` runs. Imports nothing of the server, so that the command line loads quickly. */
export function serveCommand(): Command {
  return new Command('serve')
    .summary('start the server')
    .description(
      'Starts API, worker, Postgres and a model in one process, and a sample job at the first start on a data directory.',
    )
    .addOption(
      new Option(
        '--role <role>',
        'what this process runs (ROLE, default all); every role except all needs DATABASE_URL',
      ).choices(['all', 'api', 'worker', 'tools']),
    )
    .option('--port <number>', 'port of the API, 0 takes a free one (PORT, default 4000)', given)
    .option('--data-dir <folder>', 'embedded Postgres, secret, demo key (DATA_DIR, default .nightshift)', given)
    .addOption(
      new Option('--ephemeral', 'use a temporary data directory and delete it at the end').conflicts('dataDir'),
    )
    .option('--no-sample', 'do not run the sample job')
    .addOption(
      new Option(
        '--once',
        'start, run the sample job, print its timings as one JSON line, stop; exit 0 only if the job completed',
      ).conflicts('sample'),
    )
    .addHelpText('after', settings);
}

/** A flag after another flag means that the value is missing. */
function given(value: string): string {
  if (value === '' || value.startsWith('--')) throw new InvalidArgumentError('The flag needs a value.');
  return value;
}

/** Parses the arguments after the program's name. Null: `print` has printed `--help`. Throws `UsageError`. */
export function parseServeOptions(words: readonly string[], print: (text: string) => void): ServeOptions | null {
  const command = serveCommand()
    .exitOverride()
    .configureOutput({ writeOut: print, writeErr: () => undefined });
  try {
    return command.parse([...words], { from: 'user' }).opts<ServeOptions>();
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return null;
    const flags = command.options.map(({ long }) => long).join(', ');
    throw new UsageError(`${error.message.replace(/^error: /, '')}\nFlags: ${flags}, --help.`);
  }
}
