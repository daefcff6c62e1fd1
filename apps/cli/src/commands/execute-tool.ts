import { randomUUID } from 'node:crypto';

import { CliError } from '../cli.errors.js';
import { tokenOf } from '../connection.js';
import type { Context } from '../context.js';
import { type ExitCode, exitCodes } from '../exit-code.js';

/** A call of a tool without a model. */
export interface ToolExecution {
  readonly agent: string;
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
}

interface Reply {
  readonly tool_call_id?: string;
  readonly result?: unknown;
  readonly error?: { readonly message: string; readonly code: string | null };
}

/** The result of the call, and the job that it was. */
export async function executeTool(
  context: Context,
  { agent, name, arguments: given }: ToolExecution,
): Promise<{ readonly jobId: string | null; readonly callId: string | undefined; readonly result: unknown }> {
  const place = await context.connection();
  const headers = {
    authorization: `Bearer ${tokenOf(place)}`,
    'content-type': 'application/json',
    'idempotency-key': randomUUID(),
    ...(place.workspace !== undefined && { 'x-workspace-id': place.workspace }),
  };
  const body = JSON.stringify({ agent, tool_name: name, arguments: given });
  const response = await fetch(`${place.url}/v1/tools/execute`, { method: 'POST', headers, body }).catch(
    (cause: unknown) => {
      throw unreachable(place.url, cause);
    },
  );
  const reply = (await response.json().catch(() => ({}))) as Reply; // checked member by member
  if (!response.ok) throw waitingError(response, reply) ?? refusal(response.status, reply);
  return { jobId: response.headers.get('x-job-id'), callId: reply.tool_call_id, result: reply.result };
}

/** `fetch` hides the reason below. */
function unreachable(url: string, error: unknown): CliError {
  const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : '';
  const message = `${url} cannot be reached${cause}.`;
  return new CliError({ exitCode: exitCodes.network, code: 'connection_lost', message });
}

const exits: Readonly<Record<number, ExitCode>> = {
  401: exitCodes.auth,
  403: exitCodes.auth,
  404: exitCodes.notFound,
  429: exitCodes.network,
  502: exitCodes.network,
  503: exitCodes.network,
};

/** The call waits for a decision or takes long; its job keeps running. */
function waitingError({ headers }: Response, { error }: Reply): CliError | null {
  const jobId = headers.get('x-job-id');
  if (error?.code !== 'still_running' || jobId === null) return null;
  const requests = (headers.get('x-waiting-approval') ?? '').split(/[\s,]+/).filter((id) => id !== '');
  const commands = [...requests.map((id) => `approve ${id}`), `attach ${jobId}`];
  return new CliError({
    exitCode: requests.length > 0 ? exitCodes.waiting : exitCodes.failed,
    code: error.code,
    message: requests.length > 0 ? 'The call waits for a decision; its job keeps running.' : `${error.message}.`,
    remedy: (command) => commands.map((words) => `    $ ${command(words)}`).join('\n'),
  });
}

function refusal(status: number, { error }: Reply): CliError {
  const message = error?.message ?? `The server answered ${status}.`;
  const isApproval = error?.code === 'approval_required';
  return new CliError({
    exitCode: isApproval ? exitCodes.waiting : (exits[status] ?? exitCodes.failed),
    code: error?.code ?? `http_${status}`,
    message,
    remedy: isApproval
      ? (command) =>
          `Run a job that calls it and asks for the approval: ${command('run "use the tool …" --tools NAME')}`
      : undefined,
  });
}
