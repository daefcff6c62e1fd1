import { type Terminal, toPlainText } from '../terminal.js';

/** Something the sample job waits for. */
export interface OpenRequest {
  readonly id: string;
  readonly title: string;
  /** What would run, for people; null: it is about no call. */
  readonly preview: string | null;
  /** The reason for the request; null: it has none. */
  readonly reason: string | null;
  /** The value that an approval has to repeat; null: it is not an approval, or cannot be given. */
  readonly argumentsHash: string | null;
  /** Whether the demo key may decide it. */
  readonly mayDecide: boolean;
}

/** Where the answer goes. */
export interface AnswerPlace {
  /** The api's base. */
  readonly url: string;
  /** The file that holds a key. */
  readonly keyFile: string;
}

/** Prints which requests are open, and how to answer each. */
export function printOpenRequests(out: Terminal, requests: readonly OpenRequest[], place: AnswerPlace): void {
  out.line(`  ${out.style('bold', 'waiting')}: the job continues after a decision (docs/approvals.md).`);
  for (const request of requests) {
    const { id, title, preview, reason } = request;
    out.line(`  - ${oneLine(preview === null ? title : `${title} {${preview}}`)} (request ${id})`);
    if (reason !== null) out.line(`    ${oneLine(reason)}`);
    out.line(request.mayDecide ? howTo(request, place) : '    Another user must decide: the demo key may not.');
  }
  out.line();
}

/** A preview has a line for each argument. */
function oneLine(text: string): string {
  return toPlainText(text).replaceAll('\n', ', ');
}

function howTo({ id, argumentsHash }: OpenRequest, { url, keyFile }: AnswerPlace): string {
  if (argumentsHash === null) return '    docs/interrupts.md explains how to answer it.';
  const body = JSON.stringify({ decision: 'approve', argumentsHash });
  return [
    `    curl -s ${url}/api/interrupts/${id}/decision -H "authorization: Bearer $(cat '${keyFile}')" \\`,
    `      -H 'content-type: application/json' -d '${body}'`,
  ].join('\n');
}
