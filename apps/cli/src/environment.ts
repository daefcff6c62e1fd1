import { basename } from 'node:path';

/** What the environment of the process contains. Absent and empty are the same. */
export interface CliEnvironment {
  /** How this program was started; printed commands begin with it. */
  readonly program: string;
  /** NIGHTSHIFT_URL. */
  readonly url: string | undefined;
  /** NIGHTSHIFT_KEY, an API key as in the documents' examples. A NIGHTSHIFT_TOKEN, such as a user's own, comes before it. */
  readonly token: string | undefined;
  /** Which of the two it is. */
  readonly tokenFrom: string;
  /** NIGHTSHIFT_WORKSPACE: which one, for the token of a user of several. */
  readonly workspace: string | undefined;
  /** DATA_DIR: where `npm start` stores its key and the address it serves at. */
  readonly dataDir: string | undefined;
  /** NO_COLOR (no-color.org). */
  readonly noColor: boolean;
  /** TERM is `dumb`: lines only. */
  readonly isDumb: boolean;
  /** VISUAL, else EDITOR. */
  readonly editor: string | undefined;
}

/** The only place of the command line that reads `process.env`. */
export function readEnvironment(
  from: Readonly<Record<string, string | undefined>> = process.env,
  script = process.argv[1],
): CliEnvironment {
  const text = (name: string) => {
    const value = from[name]?.trim();
    return value === '' ? undefined : value;
  };
  // `npx` runs the same link as a shell that has its folder on the PATH, and sets npm_command.
  const isOnPath = basename(script ?? '') === 'nightshift' && text('npm_command') !== 'exec';
  return {
    program: isOnPath ? 'nightshift' : 'npx nightshift',
    url: text('NIGHTSHIFT_URL'),
    token: text('NIGHTSHIFT_TOKEN') ?? text('NIGHTSHIFT_KEY'),
    tokenFrom: text('NIGHTSHIFT_TOKEN') === undefined ? 'NIGHTSHIFT_KEY' : 'NIGHTSHIFT_TOKEN',
    workspace: text('NIGHTSHIFT_WORKSPACE'),
    dataDir: text('DATA_DIR'),
    noColor: text('NO_COLOR') !== undefined,
    isDumb: text('TERM') === 'dumb',
    editor: text('VISUAL') ?? text('EDITOR'),
  };
}
