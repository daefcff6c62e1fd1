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
import { readDocument } from './read-input.js';
import { showIssue } from './validate-workflow.js';

/** A document is saved before it is published. */
const KEPT = 'The document is saved as a draft. Correct it and push it again.';

interface PushFlags {
  readonly draft?: boolean;
}

/** Saves a document as the draft of its workflow and, without `--draft`, publishes it. */
export async function pushWorkflow(context: Context, file: string, { draft = false }: PushFlags): Promise<ExitCode> {
  const { screen, json, emit } = context;
  const definition = await readDocument(file, screen.input);
  const client = await context.client();
  const { importWorkflow } = await client.mutate(ImportWorkflowDocument, { input: { definition } });
  if (importWorkflow.userErrors.length > 0 && !json) {
    const { validateWorkflow: validation } = await client.query(ValidateWorkflowDocument, { definition });
    for (const issue of validation.errors) screen.note(showIssue(screen, file, issue));
  }
  refuse(importWorkflow.userErrors);
  const { workflow, issues } = importWorkflow;
  if (workflow === null) throw new Error('the server returned no workflow and no error');
  if (!json) for (const issue of issues ?? []) screen.note(showIssue(screen, file, issue));
  const name = oneLine(workflow.clientId ?? workflow.slug);
  if (draft) {
    if (json) emit({ workflow, version: null, issues });
    else screen.line(`${name}: draft saved. Publish it: ${context.command(`workflows publish ${name}`)}`);
    return exitCodes.ok;
  }
  const version = await publish(context, { client, id: workflow.id, place: file, remedy: KEPT });
  if (json) emit({ workflow, version, issues });
  else screen.line(publishedLine(context, name, version));
  return exitCodes.ok;
}

/** Publishes the draft of a workflow: what was saved last is what runs from now on. */
export async function publishWorkflow(context: Context, given: string): Promise<ExitCode> {
  const { json, emit, screen } = context;
  const client = await context.client();
  const workflow = await findWorkflow(client, given);
  const version = await publish(context, { client, id: workflow.id, place: oneLine(given) });
  if (json) emit({ workflow: { ...workflow, publishedVersion: version?.number ?? null }, version });
  else screen.line(publishedLine(context, oneLine(workflow.clientId ?? given), version));
  return exitCodes.ok;
}

type Version = PublishWorkflowMutation['publishWorkflow']['version'];

interface Publishing {
  readonly client: Nightshift;
  readonly id: string;
  /** The subject of its issues. */
  readonly place: string;
  /** What to do when it is not valid. */
  readonly remedy?: string;
}

async function publish({ screen, json }: Context, { client, id, place, remedy }: Publishing): Promise<Version> {
  const { publishWorkflow: published } = await client.mutate(PublishWorkflowDocument, { input: { id } });
  const shown = json ? [] : (published.issues ?? []);
  for (const issue of shown) screen.note(showIssue(screen, place, issue));
  // An issue that was printed with its position is not printed again.
  refuse(
    shown.length === 0 ? published.userErrors : published.userErrors.map((error) => ({ ...error, issues: [] })),
    remedy,
  );
  return published.version;
}

function publishedLine({ command }: Context, name: string, version: Version): string {
  return `${name}: version ${version?.number ?? '?'} is published. Run it: ${command(`workflows run ${name} "…"`)}`;
}

interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly issues: readonly string[];
}

function refuse([refusal]: readonly Refusal[], remedy?: string): void {
  if (refusal === undefined) return;
  const { code, message, issues } = refusal;
  const exitCode = code === 'forbidden' ? exitCodes.auth : exitCodes.failed;
  throw new CliError({
    exitCode,
    code,
    message: [message, ...issues].join('\n'),
    remedy: code === 'workflow_invalid' ? remedy : undefined,
  });
}
