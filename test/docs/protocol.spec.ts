import { readFileSync, writeFileSync } from 'node:fs';

import { describe, expect, it } from '@jest/globals';

import { jobEventMeanings, jobMoves, jobStatuses } from '#jobs';
import { errorTable } from '#platform/api';
import { toolCallMoves, toolCallStatuses, toToolCallItem } from '#tools';

const file = new URL('../../PROTOCOL.md', import.meta.url);

const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
const table = (head: readonly string[], rows: readonly (readonly string[])[]) =>
  [row(head), row(head.map(() => '---')), ...rows.map(row)].join('\n');
const code = (text: string) => `\`${text}\``;

const sections: Readonly<Record<string, string>> = {
  'job-moves': table(
    ['status', 'moves to'],
    jobStatuses.map((status) => [code(status), jobMoves[status].map(code).join(', ') || 'none: it is terminal']),
  ),
  'tool-call-statuses': table(
    ['status', 'on the wire', 'moves to'],
    toolCallStatuses.map((status) => [
      code(status),
      code(toToolCallItem({ callId: 'c', name: 'n', arguments: '{}', status }).status),
      toolCallMoves[status].map(code).join(', ') || 'none: it is settled',
    ]),
  ),
  events: table(
    ['kind', 'body', 'meaning'],
    Object.entries(jobEventMeanings).map(([kind, { body, meaning }]) => [code(kind), body, meaning]),
  ),
  errors: table(
    ['code', 'HTTP', 'GraphQL'],
    Object.entries(errorTable).map(([name, { status, graphql }]) => [code(name), String(status), code(graphql)]),
  ),
};

function withSections(text: string): string {
  return text.replace(
    /<!-- generated: ([\w-]+) -->[^]*?<!-- end -->/g,
    (_, name: string) => `<!-- generated: ${name} -->\n\n${sections[name] ?? ''}\n\n<!-- end -->`,
  );
}

describe('PROTOCOL.md', () => {
  it('contains the sections that the code generates', () => {
    const text = readFileSync(file, 'utf8');
    const generated = withSections(text);
    if (process.env['UPDATE_DOCS'] === '1') writeFileSync(file, generated);
    else expect(text).toBe(generated);
  });

  it('contains a place for every table', () => {
    const text = readFileSync(file, 'utf8');
    for (const name of Object.keys(sections)) expect(text).toContain(`<!-- generated: ${name} -->`);
  });
});
