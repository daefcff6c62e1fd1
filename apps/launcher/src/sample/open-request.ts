import { type Terminal, toPlainText } from '../terminal/terminal.js';

/** A request that the sample job waits for. */
export interface OpenRequest {
  readonly id: string;
  readonly title: string;
  /** The call to approve, for people; null: the request is not about a call. */
  readonly preview: string | null;
  /** The reason for the request; null: it has none. */
  readonly reason: string | null;
  /** The hash that an approval must repeat; null: the request is not an approval, or has no hash. */
  readonly argumentsHash: string | null;
  /** Whether the demo key may decide it. */
  readonly mayDecide: boolean;
}

/** The endpoint and the key for a decision. */
export interface AnswerPlace {
  /** Base URL of the api. */
  readonly url: string;
  /** The file that holds a key. */
  readonly keyFile: string;
}

/** Prints the open requests, and how to decide each. */
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

/** The preview has a line for each argument. */
function oneLine(text: string): string {
  return toPlainText(text).replaceAll('\n', ', ');
}

function howTo({ id, argumentsHash }: OpenRequest, { url, keyFile }: AnswerPlace): string {
  if (argumentsHash === null) return '    docs/interrupts.md explains how to decide it.';
  const body = JSON.stringify({ decision: 'approve', argumentsHash });
  return [
    `    curl -s ${url}/api/interrupts/${id}/decision -H "authorization: Bearer $(cat '${keyFile}')" \\`,
    `      -H 'content-type: application/json' -d '${body}'`,
  ].join('\n');
}
