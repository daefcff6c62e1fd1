import { ValidateWorkflowDocument, type WorkflowIssueFieldsFragment } from '@nightshift/client/operations';

import type { Context } from '../context.js';
import { type ExitCode, exitCodes } from '../exit-code.js';
import { count } from '../format/count.js';
import { oneLine } from '../terminal/plain-text.js';
import type { Screen } from '../terminal/screen.js';
import { readDocument } from './read-input.js';

/** Validates a document as a save would, and prints the issues. */
export async function validateWorkflow(context: Context, file: string): Promise<ExitCode> {
  const { screen, json, emit } = context;
  const definition = await readDocument(file, screen.input);
  const client = await context.client();
  const { validateWorkflow: validation } = await client.query(ValidateWorkflowDocument, { definition });
  if (json) emit({ file, ...validation });
  else {
    for (const issue of [...validation.errors, ...validation.warnings]) screen.line(showIssue(screen, file, issue));
    const [errors, warnings] = [count(validation.errors.length, 'error'), count(validation.warnings.length, 'warning')];
    screen.note(
      validation.isValid
        ? `${screen.paint('green', '✓')} ${file} can be saved and run: ${warnings}.`
        : `${screen.paint('red', '✗')} ${file} has ${errors}, ${warnings}.`,
    );
  }
  return validation.isValid ? exitCodes.ok : exitCodes.failed;
}

/** `flow.json:/nodes/2/data/model: error MISSING_MODEL: …  (node writer)`. */
export function showIssue(screen: Screen, file: string, issue: WorkflowIssueFieldsFragment): string {
  const { type, code, message, path, nodeId, edgeId } = issue;
  const place =
    nodeId === null ? (edgeId === null ? '' : `  (edge ${oneLine(edgeId)})`) : `  (node ${oneLine(nodeId)})`;
  const kind = screen.ink(type === 'error' ? 'red' : 'yellow', `${type} ${code}`);
  return `${file}:${path === '' ? '/' : oneLine(path)}: ${kind}: ${oneLine(message)}${screen.ink('dim', place)}`;
}
