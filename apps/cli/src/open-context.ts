import type { Nightshift } from '@nightshift/client';

import { commandLine } from './command-line.js';
import { type Connection, type ConnectionFlags, findConnection, tokenOf } from './connection.js';
import type { Context } from './context.js';
import type { CliEnvironment } from './environment.js';
import { formatDuration } from './format/duration.js';
import { plainText } from './terminal/plain-text.js';
import type { Input, Output } from './terminal/screen.js';
import { Screen } from './terminal/screen.js';

/** The flags that every command has. */
export interface GlobalFlags extends ConnectionFlags {
  readonly json?: boolean;
  /** `--no-input`. */
  readonly input?: boolean;
  /** `--no-color`. */
  readonly color?: boolean;
}

export interface Streams {
  readonly input: Input;
  readonly out: Output;
  readonly errors: Output;
}

/** A context, and what ends it. */
export interface OpenContext extends Context {
  /** As far as it is known. */
  readonly known: () => Connection | undefined;
  readonly close: () => void;
}

/** The client reconnects for about a minute and a half. */
const reconnect = { firstDelayMs: 200, maxDelayMs: 5_000, attempts: 22 };

/** What a command works with, by its flags and by its surroundings. Nothing is opened before it is used. */
export function openContext(flags: GlobalFlags, environment: CliEnvironment, streams: Streams): OpenContext {
  const json = flags.json ?? false;
  const noColor = environment.noColor || flags.color === false;
  const noInput = json || flags.input === false;
  const screen = new Screen({ ...streams, noColor, noInput, isDumb: environment.isDumb || json });
  let found: Connection | undefined;
  let client: Nightshift | undefined;
  const connection = async () => (found ??= await findConnection(flags, environment));
  return {
    screen,
    environment,
    command: commandLine(environment.program, flags),
    json,
    dataDir: flags.dataDir ?? environment.dataDir,
    emit: (value) => {
      screen.line(JSON.stringify(value));
    },
    connection,
    client: async () => {
      const { createNightshift } = await import('@nightshift/client');
      const place = await connection();
      const { url, workspace } = place;
      const onWait = noteWaits(screen, json);
      return (client ??= createNightshift({
        url,
        workspace,
        token: tokenOf(place),
        reconnect: { ...reconnect, onWait },
      }));
    },
    known: () => found,
    close: () => {
      client?.close();
      screen.close();
    },
  };
}

/** Prints one line when the server limits the rate of requests, so that a wait is not taken for a hang. */
function noteWaits(screen: Screen, json: boolean): (error: unknown, delayMs: number) => void {
  let isNoted = json;
  return (error, delayMs) => {
    if (isNoted || !(error instanceof Error && 'code' in error && error.code === 'rate_limited')) return;
    isNoted = true;
    screen.note(screen.paint('dim', `${plainText(error.message)} Retrying in ${formatDuration(delayMs)}.`));
  };
}
