import { parseArgumentCondition, type ToolCallFilter, toolCallStatuses, type ToolSort } from '#tools';

import { invalidParameter } from '../errors/http.errors.js';
import { toIdOrNone } from '../graphql/filters/narrow.js';
import { toPrincipalId, withoutGaps } from './to-tool-call-filter.js';

const sorts: readonly ToolSort[] = ['server', 'client', 'http', 'mcp'];

const names = [
  ...[
    'user',
    'thread',
    'job',
    'workflow',
    'tool',
    'runtime',
    'status',
    'errorPhase',
    'errorCode',
    'errorText',
    'approver',
  ],
  ...['from', 'to', 'minDurationMs', 'maxDurationMs', 'argument'],
];

/**
 * The filter in a query string. Lists (`runtime`, `status`) are separated by commas, `argument` may be repeated, `from` and
 * `to` are RFC 3339. Throws `bad_request` naming the parameter for a value that means nothing, and for a parameter that does
 * not exist: an export of more than was meant is worse than none.
 */
export function toExportFilter(query: Readonly<Record<string, unknown>>): ToolCallFilter {
  for (const name of Object.keys(query)) if (!names.includes(name)) throw invalidParameter(name);
  const read = new Parameters(query);
  return withoutGaps({
    createdBy: read.id('user'),
    threadId: read.id('thread'),
    jobId: read.id('job'),
    workflowId: read.id('workflow'),
    tool: read.text('tool'),
    runtimes: read.choices('runtime', sorts),
    statuses: read.choices('status', toolCallStatuses),
    errorPhase: read.text('errorPhase'),
    errorCode: read.text('errorCode'),
    errorText: read.text('errorText'),
    approver: read.map('approver', toPrincipalId),
    createdAfter: read.instant('from'),
    createdBefore: read.instant('to'),
    minDurationMs: read.milliseconds('minDurationMs'),
    maxDurationMs: read.milliseconds('maxDurationMs'),
    arguments: read.texts('argument')?.map(parseArgumentCondition),
  });
}

class Parameters {
  constructor(private readonly query: Readonly<Record<string, unknown>>) {}

  texts(name: string): readonly string[] | undefined {
    const value = this.query[name];
    if (value === undefined) return undefined;
    const values: readonly unknown[] = Array.isArray(value) ? value : [value];
    return values.map((text) => {
      if (typeof text !== 'string' || text === '') throw invalidParameter(name);
      return text;
    });
  }

  text(name: string): string | undefined {
    const [text, ...more] = this.texts(name) ?? [];
    if (more.length > 0) throw invalidParameter(name);
    return text;
  }

  map<T>(name: string, to: (text: string) => T): T | undefined {
    const text = this.text(name);
    return text === undefined ? undefined : to(text);
  }

  id(name: string): string | undefined {
    return this.map(name, toIdOrNone);
  }

  choices<T extends string>(name: string, known: readonly T[]): readonly T[] | undefined {
    return this.map(name, (text) =>
      text.split(',').map((part) => {
        const choice = known.find((value) => value === part);
        if (choice === undefined) throw invalidParameter(name);
        return choice;
      }),
    );
  }

  instant(name: string): number | undefined {
    return this.map(name, (text) => {
      const at = /^\d{4}-\d{2}-\d{2}T.*(?:Z|[+-]\d{2}:\d{2})$/.test(text) ? Date.parse(text) : Number.NaN;
      if (Number.isNaN(at)) throw invalidParameter(name);
      return at;
    });
  }

  milliseconds(name: string): number | undefined {
    return this.map(name, (text) => {
      if (!/^\d{1,9}$/.test(text)) throw invalidParameter(name);
      return Number(text);
    });
  }
}
