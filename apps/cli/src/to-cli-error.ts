import { NightshiftError } from '@nightshift/client';

import { CliError, type Remedy } from './cli.errors.js';
import type { Connection } from './connection.js';
import { type ExitCode, exitCodes } from './exit-code.js';

const exits: Readonly<Record<string, ExitCode>> = {
  unauthenticated: exitCodes.auth,
  token_unavailable: exitCodes.auth,
  forbidden: exitCodes.auth,
  cannot_decide: exitCodes.auth,
  scope_exceeds_role: exitCodes.auth,
  not_found: exitCodes.notFound,
  connection_lost: exitCodes.network,
  bad_response: exitCodes.network,
  no_websocket: exitCodes.network,
  closed: exitCodes.network,
  unavailable: exitCodes.network,
  rate_limited: exitCodes.network,
  job_limit_reached: exitCodes.network,
};

/** What the client rejects with, as the end of a command: with its exit code, and with what to do where we know. */
export function toCliError(error: unknown, connection: Connection | undefined): CliError | null {
  if (error instanceof CliError) return error;
  if (!(error instanceof NightshiftError)) return null;
  const { code, message, issues } = error;
  return new CliError({
    exitCode: exits[code] ?? exitCodes.failed,
    code,
    message: [asSentence(message), ...issues].join('\n'),
    remedy:
      remedyFor(code, connection) ??
      remedyOf(error) ??
      (error.requestId === undefined ? undefined : `Request ${error.requestId}.`),
  });
}

function remedyFor(code: string, connection: Connection | undefined): Remedy | undefined {
  if (connection === undefined) return undefined;
  const { url, urlFrom, tokenFrom } = connection;
  switch (code) {
    case 'unauthenticated':
      return `${url} does not accept the credential (from ${tokenFrom}): it is unknown there, was revoked or has expired. Set another one in NIGHTSHIFT_KEY, NIGHTSHIFT_TOKEN or --token.`;
    case 'forbidden':
    case 'cannot_decide':
    case 'scope_exceeds_role':
      return (command) =>
        `The credential (from ${tokenFrom}) may not do this. Show its scopes and its role: ${command('doctor')}`;
    case 'connection_lost':
    case 'bad_response':
      return `The address is ${url} (from ${urlFrom}). Start Nightshift there with \`npm start\`, or set another address in NIGHTSHIFT_URL or --url.`;
    case 'rate_limited':
      return 'Try again later.';
    case 'job_limit_reached':
      return (command) =>
        `List the unfinished jobs: ${command('jobs --status queued,running,waiting')}\nEnd one: ${command('cancel JOB')}`;
    default:
      return undefined;
  }
}

/** Where the names are that could have been given. */
function remedyOf({ code, field }: NightshiftError): Remedy | undefined {
  if (field === 'agent' && code === 'not_found') return (command) => `List the agents: ${command('agents')}`;
  if (field === 'tools') return (command) => `List the tools: ${command('tools list')}`;
  if (field === 'workspaceId' && code === 'not_found')
    return (command) =>
      `List your workspaces: ${command('workspaces list')}\nList your invitations: ${command('invitations received')}\nOr create a workspace: ${command('workspaces create NAME')}`;
  if (field === 'workspaceId')
    return (command) =>
      `List your workspaces: ${command('workspaces list')}\nThen name one with --workspace ID, or set NIGHTSHIFT_WORKSPACE.`;
  return undefined;
}

function asSentence(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}
