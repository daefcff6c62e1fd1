import { randomUUID } from 'node:crypto';

import type { Nightshift } from '@nightshift/client';
import { TestToolDocument, ToolsDocument } from '@nightshift/client/operations';
import type { Command } from 'commander';

import { CliError, notFound } from '../cli.errors.js';
import { tokenOf } from '../connection.js';
import type { Context } from '../context.js';
import { type ExitCode, exitCodes } from '../exit-code.js';
import { formatDuration } from '../format/duration.js';
import { showTable } from '../format/show-table.js';
import { workspaceToolsDocument } from '../operations.js';
import { oneLine, plainText } from '../terminal/plain-text.js';
import { jsonOf } from '../words.js';
import type { Perform } from './perform.js';
import { readInput } from './read-input.js';

/** A call of a tool without a model. */
interface ToolExecution {
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
async function executeTool(
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
  const message = error?.message ?? `The server responded with HTTP status ${status}.`;
  const isApproval = error?.code === 'approval_required';
  return new CliError({
    exitCode: isApproval ? exitCodes.waiting : (exits[status] ?? exitCodes.failed),
    code: error?.code ?? `http_${status}`,
    message,
    remedy: isApproval
      ? (command) =>
          `Run a job that calls the tool and requests the approval: ${command('run "use the tool …" --tools NAME')}`
      : undefined,
  });
}

interface CallFlags {
  readonly agent?: string;
}

/** `tools`: what models may call, and calls without a model. */
export function addTools(program: Command, perform: Perform): void {
  const tools = program.command('tools').summary('list tools and call one').description('Tools (docs/tools.md).');
  tools
    .command('list')
    .description('Lists the tools that jobs may use.')
    .action(() => perform(list));
  tools
    .command('call')
    .description(
      'Calls a tool without a model. With --agent, runs one call as a job under the approval policy; without it, tests a tool that the workspace defined.',
    )
    .argument('<name>', 'the name of the tool')
    .argument('[arguments]', 'its arguments, a JSON object; - is standard input', '{}')
    .option('-a, --agent <name>', 'the agent that has the tool')
    .action((name: string, text: string, flags: CallFlags) => perform((context) => call(context, [name, text], flags)));
}

async function list({ client, json, emit, screen }: Context): Promise<ExitCode> {
  const { tools } = await (await client()).query(ToolsDocument, {});
  if (json) {
    for (const tool of tools) emit(tool);
    return exitCodes.ok;
  }
  const rows = tools.map(({ name, sort, effect, description }) => [
    { text: name, paint: (text: string) => screen.ink('cyan', text) },
    { text: sort.toLowerCase() },
    { text: effect.toLowerCase() },
    { text: oneLine(description) },
  ]);
  showTable(screen, ['TOOL', 'RUNS', 'EFFECT', 'WHAT IT DOES'], rows);
  return exitCodes.ok;
}

async function call(context: Context, [name, given]: [string, string], { agent }: CallFlags): Promise<ExitCode> {
  const text = given === '-' ? await readInput('-', context.screen.input) : given;
  const args = jsonOf(text, 'arguments', (command) => command(`tools call ${name} '{"name": "value"}'`));
  if (agent === undefined) return tryOut(context, name, args);
  const { jobId, callId, result } = await executeTool(context, { agent, name, arguments: JSON.stringify(args) });
  if (context.json) context.emit({ name, jobId, callId, result });
  else context.screen.line(plainText(typeof result === 'string' ? result : JSON.stringify(result, null, 2)));
  return exitCodes.ok;
}

async function tryOut({ client, json, emit, screen }: Context, name: string, args: unknown): Promise<ExitCode> {
  const asked = await client();
  const id = await workspaceToolId(asked, name);
  const { testTool } = await asked.mutate(TestToolDocument, { input: { id, arguments: args } });
  const [refusal] = testTool.userErrors;
  if (refusal !== undefined) {
    throw new CliError({
      exitCode: refusal.code === 'forbidden' ? exitCodes.auth : exitCodes.failed,
      code: refusal.code,
      message: [refusal.message, ...refusal.issues].join('\n'),
    });
  }
  const { trial } = testTool;
  if (json) emit({ name, ...trial });
  else if (trial !== null) {
    if (trial.result !== null) screen.line(plainText(trial.result));
    if (trial.error !== null) screen.note(screen.paint('red', plainText(trial.error)));
    if (trial.hint !== null) screen.note(plainText(trial.hint));
    const status = trial.status === null ? '' : `HTTP ${trial.status} · `;
    screen.note(screen.paint('dim', `${status}${formatDuration(trial.durationMs)}`));
  }
  return trial?.error == null ? exitCodes.ok : exitCodes.failed;
}

async function workspaceToolId(client: Nightshift, name: string): Promise<string> {
  let after: string | undefined;
  do {
    const { workspaceTools: page } = await client.query(workspaceToolsDocument, { after });
    const found = page.nodes.find((tool) => tool.name === name);
    if (found !== undefined) return found.id;
    after = page.pageInfo.hasNextPage ? (page.pageInfo.endCursor ?? undefined) : undefined;
  } while (after !== undefined);
  throw notFound(
    `A tool ${name} that this workspace defined`,
    (command) => `For any other tool, name an agent that has it with --agent. List all tools: ${command('tools list')}`,
  );
}
