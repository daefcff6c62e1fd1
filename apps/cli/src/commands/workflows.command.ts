import { NightshiftError } from '@nightshift/client';
import type { Command } from 'commander';

import { notFound, usageError } from '../cli.errors.js';
import type { Context } from '../context.js';
import { type ExitCode, exitCodes } from '../exit-code.js';
import { formatAge } from '../format/duration.js';
import { showTable } from '../format/show-table.js';
import { oneLine } from '../terminal/plain-text.js';
import { wholeNumber } from '../words.js';
import { findWorkflow } from './find-workflow.js';
import { followToEnd, type StayFlags } from './follow-to-end.js';
import type { Perform } from './perform.js';
import { publishWorkflow, pushWorkflow } from './push-workflow.js';
import { readInput } from './read-input.js';
import { validateWorkflow } from './validate-workflow.js';

interface RunFlags extends StayFlags {
  readonly thread?: string;
  readonly at?: string;
  readonly file?: string;
  readonly detach?: boolean;
}

/** `workflows`: check a document, keep it, run it, draw it. */
export function addWorkflows(program: Command, perform: Perform): void {
  const workflows = program
    .command('workflows')
    .summary('check, run and draw workflows')
    .description('Workflows: graphs of agents, tools and people (docs/workflows.md).');
  workflows
    .command('list')
    .description('Lists the workflows.')
    .action(() => perform(listWorkflows));
  workflows
    .command('validate')
    .description(
      'Checks a document and prints each error with its position. Nothing is saved. Exit code 1 when it has errors.',
    )
    .argument('<file>', 'the JSON document; - is standard input')
    .action((file: string) => perform((context) => validateWorkflow(context, file)));
  workflows
    .command('push')
    .description(
      'Saves a document and publishes it. If a workflow with the same meta.id exists, replaces its draft and adds a version.',
    )
    .argument('<file>', 'the JSON document; - is standard input')
    .option('--draft', 'only save the draft; `publish` publishes it later')
    .action((file: string, flags: { draft?: boolean }) => perform((context) => pushWorkflow(context, file, flags)));
  workflows
    .command('publish')
    .description('Publishes the saved draft of a workflow as a new version. New jobs run this version.')
    .argument('<workflow>', 'the id, the meta.id of its document, its slug or its name')
    .action((id: string) => perform((context) => publishWorkflow(context, id)));
  addRun(workflows, perform);
  workflows
    .command('graph')
    .description('Prints a diagram of a workflow, or of a job with its nodes colored by status, as Mermaid or SVG.')
    .argument('[workflow]', 'the id, the meta.id of its document, its slug or its name')
    .option('--job <id>', 'a job that runs a workflow, instead of a workflow')
    .option('--svg', 'print SVG instead of Mermaid')
    .action((id: string | undefined, flags: GraphFlags) => perform((context) => graph(context, id, flags)));
}

function addRun(workflows: Command, perform: Perform): void {
  workflows
    .command('run')
    .description('Starts a published workflow and follows its job, as `run` does.')
    .argument('<workflow>', 'the id, the meta.id of its document, its slug or its name')
    .argument('[prompt...]', 'the input of the workflow; if you omit it, it is read from standard input')
    .option('-f, --file <path>', 'append this file to the prompt, or use it as the prompt; - is standard input')
    .option('--thread <id>', 'the thread that shows the job')
    .option('--at <version>', 'run this version instead of the published one')
    .option('-d, --detach', 'start the job, print its id and exit')
    .option(
      '--wait',
      'keep following when the job waits for another person or a client, instead of exiting with code 6',
    )
    .option('--cancel-on-exit', 'Ctrl-C cancels the job')
    .action((id: string, words: string[], flags: RunFlags) =>
      perform((context) => run(context, [id, ...words], flags)),
    );
}

async function run(
  context: Context,
  [workflowId = '', ...words]: readonly string[],
  flags: RunFlags,
): Promise<ExitCode> {
  const { screen } = context;
  const source = flags.file ?? (words.length === 0 && screen.input.isTTY !== true ? '-' : undefined);
  const added = source === undefined ? '' : (await readInput(source, screen.input)).trimEnd();
  const prompt = [words.join(' '), added].filter((part) => part !== '').join('\n\n');
  if (prompt === '')
    throw usageError('The prompt is missing.', (command) => `Example: ${command(`workflows run ${workflowId} "…"`)}`);
  const client = await context.client();
  const start = (id: string) =>
    client.startWorkflow({
      ...{ workflowId: id, prompt },
      ...(flags.thread !== undefined && { threadId: flags.thread }),
      ...(flags.at !== undefined && { version: wholeNumber(flags.at, '--at', 1) }),
    });
  const job = await start(workflowId).catch(async (error: unknown) => {
    if (!(error instanceof NightshiftError && error.code === 'not_found')) throw error;
    return start((await findWorkflow(client, workflowId)).id);
  });
  if (flags.detach === true) {
    if (context.json) context.emit({ jobId: job.id, threadId: job.threadId });
    else screen.line(job.id);
    return exitCodes.ok;
  }
  const announce = () => {
    if (!context.json) screen.note(screen.paint('dim', `job ${job.id}`));
  };
  return followToEnd(context, { ...flags, client, job, after: 0, announce });
}

interface GraphFlags {
  readonly job?: string;
  readonly svg?: boolean;
}

async function graph(context: Context, id: string | undefined, { job, svg }: GraphFlags): Promise<ExitCode> {
  if ((id === undefined) === (job === undefined)) throw usageError('Name either a workflow or, with --job, a job.');
  const { JobDiagramDocument, WorkflowDiagramDocument } = await import('@nightshift/client/operations');
  const client = await context.client();
  const format = svg === true ? 'SVG' : 'MERMAID';
  const drawn =
    job === undefined
      ? (await client.query(WorkflowDiagramDocument, { id: (await findWorkflow(client, id ?? '')).id, format }))
          .workflow
      : (await client.query(JobDiagramDocument, { id: job, format })).job;
  if (drawn === null) throw notFound(`Job ${job ?? ''}`, (command) => `List them: ${command('jobs --kind workflow')}`);
  if (drawn.diagram === null) throw usageError(`Job ${job ?? ''} runs no workflow.`);
  if (context.json) context.emit({ format: format.toLowerCase(), diagram: drawn.diagram });
  else context.screen.line(drawn.diagram.trimEnd());
  return exitCodes.ok;
}

async function listWorkflows({ client, json, emit, screen, command }: Context): Promise<ExitCode> {
  const { WorkflowsDocument } = await import('@nightshift/client/operations');
  const { workflows } = await (await client()).query(WorkflowsDocument, { first: 100 });
  if (json) {
    for (const workflow of workflows.nodes) emit(workflow);
    return exitCodes.ok;
  }
  if (workflows.nodes.length === 0) {
    screen.note(`No workflows. Save one: ${command('workflows push FILE')}`);
    return exitCodes.ok;
  }
  const rows = workflows.nodes.map(({ id, clientId, slug, publishedVersion, updatedAt, name }) => [
    { text: clientId ?? id, paint: (text: string) => screen.ink('cyan', text) },
    { text: slug },
    { text: publishedVersion === null ? 'no' : `version ${publishedVersion}` },
    { text: formatAge(new Date(updatedAt), Date.now()) },
    { text: oneLine(name) },
  ]);
  showTable(screen, ['WORKFLOW', 'SLUG', 'PUBLISHED', 'CHANGED', 'NAME'], rows);
  return exitCodes.ok;
}
