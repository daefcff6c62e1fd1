import { parseArgs } from 'node:util';

import { closestWord } from './closest-word.js';

/** What the command line asks for; absent values come from the environment. */
export interface LaunchArguments {
  readonly role?: string;
  readonly port?: string;
  readonly dataDir?: string;
  /** Whether the sample job runs after the start. */
  readonly sample: boolean;
  /** Stop after the sample job. */
  readonly once: boolean;
  readonly help: boolean;
}

/** The command line is invalid; the message describes a valid one. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UsageError';
  }
}

const options = {
  role: { type: 'string' },
  port: { type: 'string' },
  'data-dir': { type: 'string' },
  'no-sample': { type: 'boolean' },
  once: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

/** Reads the words after the program's name. Throws `UsageError` for everything it does not know. */
export function parseArguments(words: readonly string[]): LaunchArguments {
  const { tokens } = parseArgs({ args: [...words], options, strict: false, allowPositionals: true, tokens: true });
  const given = new Map<string, string | undefined>();
  for (const token of tokens) {
    if (token.kind === 'positional') throw new UsageError(`"${token.value}" stands alone. Flags start with --.`);
    if (token.kind === 'option') given.set(token.name, checkedValue(token));
  }
  const once = given.has('once');
  const sample = !given.has('no-sample');
  if (once && !sample) throw new UsageError('--once runs the sample job, so --no-sample cannot go with it.');
  const [role, port, dataDir] = [given.get('role'), given.get('port'), given.get('data-dir')];
  return {
    ...(role === undefined ? {} : { role }),
    ...(port === undefined ? {} : { port }),
    ...(dataDir === undefined ? {} : { dataDir }),
    sample,
    once,
    help: given.has('help'),
  };
}

interface OptionToken {
  readonly name: string;
  readonly rawName: string;
  readonly value?: string | undefined;
  readonly inlineValue?: boolean | undefined;
}

function checkedValue({ name, rawName, value, inlineValue }: OptionToken): string | undefined {
  const known = Object.entries(options).find(([option]) => option === name)?.[1];
  if (known === undefined) throw unknownFlag(rawName);
  if (known.type === 'boolean') {
    if (value !== undefined) throw new UsageError(`${rawName} takes no value.`);
    return undefined;
  }
  // A word that looks like a flag was meant as one: the value was forgotten.
  if (value === undefined || value === '' || (inlineValue !== true && value.startsWith('-'))) {
    throw new UsageError(`${rawName} needs a value, as in ${rawName}=${exampleOf(name)}.`);
  }
  return value;
}

function exampleOf(name: string): string {
  if (name === 'port') return '4000';
  return name === 'role' ? 'all' : '.nightshift';
}

function unknownFlag(rawName: string): UsageError {
  const known = Object.keys(options).map((name) => `--${name}`);
  const meant = closestWord(rawName, known);
  const hint = meant === undefined ? 'There are' : `Did you mean ${meant}? There are`;
  return new UsageError(`Unknown flag ${rawName}. ${hint} ${known.join(', ')}.`);
}
