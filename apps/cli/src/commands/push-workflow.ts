import type { Nightshift } from '@nightshift/client';
import {
  ImportWorkflowDocument,
  PublishWorkflowDocument,
  type PublishWorkflowMutation,
  ValidateWorkflowDocument,
} from '@nightshift/client/operations';

import { CliError } from '../cli.errors.js';
import type { Context } from '../context.js';
import { type ExitCode, exitCodes } from '../exit-code.js';
import { oneLine } from '../terminal/plain-text.js';
import { findWorkflow } from './find-workflow.js';
import { readInput } from './read-input.js';
import { showIssue } from './validate-workflow.js';

interface PushFlags {
  readonly draft?: boolean;
}

/** Keeps a document as the draft of its workflow, and publishes that. */
export async function pushWorkflow(context: Context, file: string, { draft = false }: PushFlags): Promise<ExitCode> {
  const { screen, json, emit } = context;
  const definition = await readInput(file, screen.input);
  const client = await context.client();
  const { importWorkflow } = await client.mutate(ImportWorkflowDocument, { input: { definition } });
  if (importWorkflow.userErrors.length > 0 && !json) {
    const { validateWorkflow: said } = await client.query(ValidateWorkflowDocument, { definition });
    for (const issue of said.errors) screen.note(showIssue(screen, file, issue));
  }
  refuse(importWorkflow.userErrors);
  const { workflow, issues } = importWorkflow;
  if (workflow === null) throw new Error('the server saved nothing and did not say why');
  if (!json) for (const issue of issues ?? []) screen.note(showIssue(screen, file, issue));
  const name = oneLine(workflow.clientId ?? workflow.slug);
  if (draft) {
    if (json) emit({ workflow, version: null, issues });
    else screen.line(`${name}: draft saved. Publish it: nightshift workflows publish ${name}`);
    return exitCodes.ok;
  }
  const version = await publish(client, workflow.id);
  if (json) emit({ workflow, version, issues });
  else screen.line(sayPublished(name, version));
  return exitCodes.ok;
}

/** Publishes the draft of a workflow: what was saved last is what runs from now on. */
export async function publishWorkflow({ client, json, emit, screen }: Context, given: string): Promise<ExitCode> {
  const server = await client();
  const workflow = await findWorkflow(server, given);
  const version = await publish(server, workflow.id);
  if (json) emit({ workflow: { ...workflow, publishedVersion: version?.number ?? null }, version });
  else screen.line(sayPublished(oneLine(workflow.clientId ?? given), version));
  return exitCodes.ok;
}

type Version = PublishWorkflowMutation['publishWorkflow']['version'];

async function publish(client: Nightshift, id: string): Promise<Version> {
  const { publishWorkflow: said } = await client.mutate(PublishWorkflowDocument, { input: { id } });
  refuse(said.userErrors);
  return said.version;
}

function sayPublished(name: string, version: Version): string {
  return `${name}: version ${version?.number ?? '?'} is published. Run it: nightshift workflows run ${name} "…"`;
}

interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly issues: readonly string[];
}

function refuse([refusal]: readonly Refusal[]): void {
  if (refusal === undefined) return;
  const { code, message, issues } = refusal;
  const exitCode = code === 'forbidden' ? exitCodes.auth : exitCodes.failed;
  throw new CliError({ exitCode, code, message: [message, ...issues].join('\n') });
}
