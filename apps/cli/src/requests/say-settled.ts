import { type Interrupt, type Nightshift, NightshiftError } from '@nightshift/client';
import { MeDocument } from '@nightshift/client/operations';

import { CliError } from '../cli.errors.js';
import { exitCodes } from '../exit-code.js';
import { formatAge } from '../format/duration.js';

/** How a request ended: `denied by you, 3 min ago`. `me`: the principal who asks. */
export function formatSettled(
  { outcome, status, decidedBy, decidedAt }: Interrupt,
  { me, now }: { readonly me: string | null; readonly now: number },
): string {
  const how = (outcome ?? status).toLowerCase().replaceAll('_', ' ');
  const who = decidedBy === null ? '' : ` by ${decidedBy === me ? 'you' : decidedBy}`;
  const when = decidedAt === null ? '' : `, ${formatAge(new Date(decidedAt), now)}`;
  return `${how}${who}${when}`;
}

/** What the refusal of an answer leaves out: by whom and how its request was answered. Any other error is as it was. */
export async function explained(client: Nightshift, id: string, error: unknown): Promise<unknown> {
  if (!(error instanceof NightshiftError) || error.code !== 'already_answered') return error;
  const [request, { me }] = await Promise.all([client.interrupts.get(id), client.query(MeDocument, {})]);
  if (request === null) return error;
  return new CliError({
    exitCode: exitCodes.failed,
    code: error.code,
    message: `${error.message}: ${formatSettled(request, { me: me.id, now: Date.now() })}.`,
  });
}
