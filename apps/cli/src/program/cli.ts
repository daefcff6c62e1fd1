import type { Nightshift } from '@nightshift/client';
import { Command, CommanderError, Option } from 'commander';

import { type CliError, usageError } from '../cli.errors.js';
import { type CommandLine, commandLine } from '../command-line.js';
import { addAdmin } from '../commands/admin.command.js';
import { addAgents } from '../commands/agents.command.js';
import { addApply } from '../commands/apply.command.js';
import { addApprove } from '../commands/approve.command.js';
import { addAttach } from '../commands/attach.command.js';
import { addBackup } from '../commands/backup.command.js';
import { addCancel } from '../commands/cancel.command.js';
import { addDoctor } from '../commands/doctor.command.js';
import { addInit } from '../commands/init.command.js';
import { addJobs } from '../commands/jobs.command.js';
import { addLogs } from '../commands/logs.command.js';
import { addInvitations, addMembers } from '../commands/members.command.js';
import { addNotifications } from '../commands/notifications.command.js';
import type { Perform } from '../commands/perform.js';
import { addPlugins } from '../commands/plugins.command.js';
import { addRun } from '../commands/run.command.js';
import { addSchedules } from '../commands/schedules.command.js';
import { addServe } from '../commands/serve.command.js';
import { addTools } from '../commands/tools.command.js';
import { addTriggers } from '../commands/triggers.command.js';
import { addWebhooks } from '../commands/webhooks.command.js';
import { addWorkflows } from '../commands/workflows.command.js';
import { addKeys, addWorkspaces } from '../commands/workspaces.command.js';
import { addCompletion } from '../completion/completion.command.js';
import { type Connection, type ConnectionFlags, findConnection, tokenOf } from '../connection.js';
import type { Context } from '../context.js';
import type { CliEnvironment } from '../environment.js';
import { type ExitCode, exitCodes } from '../exit-code.js';
import { formatDuration } from '../format/duration.js';
import { plainText } from '../terminal/plain-text.js';
import { type Input, type Output, Screen } from '../terminal/screen.js';
import { toCliError } from '../to-cli-error.js';

/** The flags that every command has. */
interface GlobalFlags extends ConnectionFlags {
  readonly json?: boolean;
  /** `--no-input`. */
  readonly input?: boolean;
  /** `--no-color`. */
  readonly color?: boolean;
}

interface Streams {
  readonly input: Input;
  readonly out: Output;
  readonly errors: Output;
}

/** A context, and what ends it. */
interface OpenContext extends Context {
  /** The connection; undefined until it is known. */
  readonly known: () => Connection | undefined;
  readonly close: () => void;
}

/** The client reconnects for about a minute and a half. */
const reconnect = { firstDelayMs: 200, maxDelayMs: 5_000, attempts: 22 };

/** What a command works with, by its flags and by its surroundings. Nothing is opened before it is used. */
function openContext(flags: GlobalFlags, environment: CliEnvironment, streams: Streams): OpenContext {
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

/** What the process hands over. */
export interface CliInit extends Streams {
  /** After the program's name. */
  readonly words: readonly string[];
  readonly environment: CliEnvironment;
  /** Of this program. */
  readonly version: string;
}

const epilogue = `
The address: --url, else NIGHTSHIFT_URL, else the address of an \`npm start\` that runs in this folder or a parent folder, else http://127.0.0.1:4000.
The credential: --token, else NIGHTSHIFT_TOKEN, else NIGHTSHIFT_KEY (an API key), else the demo key in .nightshift.

Exit codes: 0 success · 1 failed · 2 usage · 3 no access · 4 not found · 5 no server · 6 waits for a decision · 130 stopped by Ctrl-C`;

/** Runs the command line to its end and gives the exit code. */
export async function runCli(init: CliInit): Promise<ExitCode> {
  let exitCode: ExitCode = exitCodes.ok;
  const program = createProgram(init, (ended) => {
    exitCode = ended;
  });
  try {
    await program.parseAsync([...init.words], { from: 'user' });
    return exitCode;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // Help, the version, or an invalid command line: commander has already printed it for people.
    if (error.exitCode !== 0 && wantsJson(init)) {
      printError(toUsageError(error), {
        streams: init,
        json: true,
        command: commandLine(init.environment.program, {}),
      });
    }
    return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  }
}

/** Errors of commander, which it prints before any flag is read. */
function wantsJson({ words }: CliInit): boolean {
  const end = words.indexOf('--');
  return words.slice(0, end === -1 ? undefined : end).includes('--json');
}

function toUsageError({ code, message }: CommanderError): CliError {
  const remedy = 'Show the usage with --help.';
  if (code === 'commander.help') return usageError('A command is missing.', remedy);
  const [first = '', hint] = message.replace(/^error: /, '').split('\n');
  return usageError(first, hint === undefined ? remedy : hint.replace(/^\((.*)\)$/, '$1'));
}

const commands = [
  addServe,
  addRun,
  addAttach,
  addJobs,
  addLogs,
  addApprove,
  addCancel,
  addNotifications,
  addWebhooks,
  addTriggers,
  addSchedules,
  addWorkflows,
  addTools,
  addAgents,
  addPlugins,
  addInit,
  addApply,
  addWorkspaces,
  addMembers,
  addInvitations,
  addKeys,
  addDoctor,
  addBackup,
  addAdmin,
];

/** The commands. `end` receives the exit code of the command that was run. */
export function createProgram(init: CliInit, end: (exitCode: ExitCode) => void): Command {
  const program = new Command('nightshift');
  const perform: Perform = async (command) => {
    const context = openContext(program.opts<GlobalFlags>(), init.environment, init);
    try {
      end(await command(context));
    } catch (thrown) {
      const error = toCliError(thrown, context.known());
      if (error === null) throw thrown;
      context.screen.show(null);
      printError(error, { streams: init, json: context.json, command: context.command });
      end(error.exitCode);
    } finally {
      context.close();
    }
  };
  program
    .description('Starts the Nightshift server, and starts, follows and manages its jobs.')
    .version(wantsJson(init) ? JSON.stringify({ version: init.version }) : init.version)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => init.out.write(text),
      writeErr: (text) => wantsJson(init) || init.errors.write(text),
      getOutHasColors: () => init.out.isTTY === true && !init.environment.noColor,
      getErrHasColors: () => init.errors.isTTY === true && !init.environment.noColor,
    })
    .showHelpAfterError('(show the usage with --help)')
    .addHelpText('after', epilogue);
  for (const option of globalOptions()) program.addOption(option);
  for (const add of commands) add(program, perform);
  addCompletion(program, perform);
  return program;
}

function globalOptions(): Option[] {
  return [
    new Option('--url <url>', 'the address of the server'),
    new Option(
      '--token <token>',
      'an API key or a token; other users of this machine may see it: prefer NIGHTSHIFT_KEY',
    ),
    new Option('--data-dir <folder>', 'the data directory of the server on this machine, in place of DATA_DIR'),
    new Option('--workspace <id>', 'the workspace; required if you are a member of several'),
    new Option('--json', 'print results as JSON, one value on each line; never prompt'),
    new Option('--no-input', 'never prompt, even on a terminal'),
    new Option('--no-color', 'print no colors, like NO_COLOR'),
  ];
}

interface Printing {
  readonly streams: Streams;
  readonly json: boolean;
  readonly command: CommandLine;
}

function printError(error: CliError, { streams: { errors }, json, command }: Printing): void {
  const { message, code, exitCode } = error;
  const remedy = error.remedyWith(command);
  if (json) {
    errors.write(`${JSON.stringify({ error: { code, message, remedy: remedy ?? null }, exitCode })}\n`);
    return;
  }
  // Messages of the server may contain names that other users chose.
  errors.write(`${plainText(message)}\n${remedy === undefined ? '' : `${plainText(remedy)}\n`}`);
}
