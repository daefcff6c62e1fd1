import type { Interrupt } from '@nightshift/client';

import { count } from '../format/count.js';
import { formatAge } from '../format/duration.js';
import { oneLine, plainText } from '../terminal/plain-text.js';
import type { Screen } from '../terminal/screen.js';
import { askedOf } from './asked.js';

const kinds: Readonly<Record<string, string>> = {
  TOOL_APPROVAL: 'approval',
  HUMAN_INPUT: 'question',
  CLIENT_TOOL: 'client tool',
  UNKNOWN_OUTCOME: 'unknown outcome',
  PROVIDER_UNAVAILABLE: 'model provider',
  PLUGIN_MISSING: 'missing plugin',
};

/** A kind in a word or two. */
export function kindWord(kind: Interrupt['kind']): string {
  return kinds[kind] ?? kind.toLowerCase().replaceAll('_', ' ');
}

/** A request as a person has to see it before deciding: what, why, with which arguments, until when. */
export function showRequest(screen: Screen, request: Interrupt, now: number): string[] {
  const { reason, preview, isTruncated, prompt, output, input } = askedOf(request);
  const until =
    request.expiresAt === null ? '' : screen.paint('dim', `  expires ${formatAge(new Date(request.expiresAt), now)}`);
  const title = prompt === undefined || oneLine(prompt) !== oneLine(request.title) ? oneLine(request.title) : '';
  const lines = [
    `${screen.paint('yellow', '◆')} ${screen.paint('bold', title === '' ? kindWord(request.kind) : title)}${until}`,
  ];
  if (prompt !== undefined) lines.push(...indented(plainText(prompt)));
  if (output !== undefined) lines.push(...indented(plainText(output)).map((line) => screen.paint('dim', line)));
  else if (input !== undefined) lines.push(...quoted(plainText(input)).map((line) => screen.paint('dim', line)));
  if (preview !== undefined) lines.push(...indented(plainText(preview)).map((line) => screen.paint('cyan', line)));
  if (isTruncated) lines.push(screen.paint('yellow', '  Not all of the arguments are shown.'));
  if (reason !== undefined) lines.push(screen.paint('dim', `  ${oneLine(reason)}`));
  const who = whoDecides(request);
  if (who !== null) lines.push(screen.paint('yellow', `  ${who}`));
  return lines;
}

/** Who has to answer, where it is not the one who asks. */
export function whoDecides({ kind, mayDecide, decidableBy, fourEyes }: Interrupt): string | null {
  if (kind === 'CLIENT_TOOL') return 'The client that provides this tool must run it.';
  if (mayDecide) return null;
  if (fourEyes) return 'A person other than the requester must decide (four eyes).';
  if (decidableBy === 'APPROVERS') return 'An approver of this workspace must decide.';
  return decidableBy === 'REQUESTER'
    ? 'The requester of the job must decide, with a key that has the scope approve.'
    : 'A member who may change the job must decide, with a key that has the scope approve.';
}

function indented(text: string): string[] {
  return text.split('\n').map((line) => `    ${line}`);
}

const QUOTED_LINES = 12;

/** What a decision is about, at the size of a screen. */
function quoted(text: string): string[] {
  const lines = text.trim() === '' ? [] : text.trimEnd().split('\n');
  const shown = lines.slice(0, QUOTED_LINES).map((line) => `    │ ${line}`);
  const left = lines.length - shown.length;
  return left === 0 ? shown : [...shown, `    │ … ${count(left, 'more line')}: --json prints all of them`];
}
