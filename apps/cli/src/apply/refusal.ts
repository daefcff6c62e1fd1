import type { RefusalFragment, WorkflowIssueFieldsFragment } from '@nightshift/client/operations';

import { CliError } from '../cli.errors.js';
import { exitCodes } from '../exit-code.js';
import { oneLine } from '../terminal/plain-text.js';
import type { Resource } from './resource.js';

/** The response of the server about a resource. */
export interface Reply {
  readonly userErrors: readonly RefusalFragment[];
  readonly issues?: readonly WorkflowIssueFieldsFragment[] | null;
}

/** Throws an error that names the file and the field when the server refused. */
export function assertAccepted({ file }: Resource, { userErrors: [refusal], issues }: Reply): void {
  if (refusal === undefined) return;
  const { code, field, message } = refusal;
  const place = field === null || field === '' ? '' : ` ${oneLine(field.replace(/^(input|definition|policy)\./, ''))}:`;
  const errors = (issues ?? []).filter(({ type }) => type === 'error');
  const lines =
    errors.length > 0
      ? errors.map((issue) => `${file}:${oneLine(issue.path)}: ${oneLine(issue.message)}`)
      : refusal.issues.map(oneLine);
  throw new CliError({
    exitCode: code === 'forbidden' ? exitCodes.auth : exitCodes.failed,
    code,
    message: [`${file}:${place} ${message}`, ...lines].join('\n'),
  });
}

/** The credential has no right to what the file is compared with. */
export function mayNotRead({ file }: Resource, subject: string): CliError {
  return new CliError({
    exitCode: exitCodes.auth,
    code: 'forbidden',
    message: `${file}: this credential may not read ${subject}.`,
    remedy: 'Use an API key of an owner or admin with the scope admin.',
  });
}
