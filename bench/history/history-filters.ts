import { type ToolCallFilter } from '#tools';

import { parseArgumentCondition } from '../../libs/tools/src/history/argument-content.js';
import { seededId } from './seed-calls.js';

const DAY_MS = 86_400_000;

/** One member at a time: frequent, rare, absent, and what is only far back. */
function singles(now: number): Readonly<Record<string, ToolCallFilter>> {
  const args = (condition: string): ToolCallFilter => ({ arguments: [parseArgumentCondition(condition)] });
  return {
    'no filter': {},
    'user, busy': { createdBy: seededId('user', 0) },
    'user, quiet': { createdBy: seededId('user', 398) },
    'user, absent': { createdBy: seededId('user', 4_000) },
    thread: { threadId: seededId('thread', 20) },
    workflow: { workflowId: seededId('workflow', 2) },
    'tool, busy': { tool: 'tool_0' },
    'tool, quiet': { tool: 'crm.call_59' },
    'tool, given up long ago': { tool: 'retired' },
    'tools, pattern of 20': { tool: 'crm.*' },
    'tools, pattern of 40': { tool: 'tool_*' },
    'tools, pattern of 300 made up': { tool: 'made_up_*' },
    'runtime, frequent': { runtimes: ['server'] },
    'runtime, rare': { runtimes: ['client'] },
    'status, frequent': { statuses: ['completed'] },
    'status, rare': { statuses: ['interrupted'] },
    'status, open': { statuses: ['running'] },
    'statuses, three': { statuses: ['error', 'timed_out', 'denied'] },
    'error phase': { errorPhase: 'validation' },
    'error code': { errorCode: 'quota' },
    approver: { approver: `user:${seededId('user', 3)}` },
    'time, a day': { createdAfter: now - DAY_MS },
    'time, an hour a month ago': { createdAfter: now - 30 * DAY_MS, createdBefore: now - 30 * DAY_MS + DAY_MS / 24 },
    'time, a month long ago': { createdAfter: now - 80 * DAY_MS, createdBefore: now - 50 * DAY_MS },
    'duration, rare': { minDurationMs: 60_000 },
    'duration, frequent': { maxDurationMs: 100 },
    'argument, unique': args('$.to = "user77@example.com"'),
    'argument, some': args('$.city = "city 50"'),
    'argument, third of all': args('$.options.lang = "en"'),
    'argument, absent': args('$.to = "absent"'),
    'error text, rare': { errorText: 'host77' },
    'error text, most': { errorText: 'econnrefused connect' },
    'error text, absent': { errorText: 'zebra' },
  };
}

/** Two frequent, two rare, frequent and rare, and what excludes each other. */
const pairs: readonly (readonly [string, string])[] = [
  ['user, busy', 'tool, busy'],
  ['user, busy', 'tool, quiet'],
  ['user, busy', 'statuses, three'],
  ['user, busy', 'status, frequent'],
  ['user, busy', 'argument, third of all'],
  ['user, busy', 'argument, unique'],
  ['user, busy', 'tools, pattern of 300 made up'],
  ['user, busy', 'duration, rare'],
  ['user, busy', 'error code'],
  ['user, quiet', 'tool, busy'],
  ['user, quiet', 'statuses, three'],
  ['user, quiet', 'time, a month long ago'],
  ['tool, busy', 'statuses, three'],
  ['tool, busy', 'duration, rare'],
  ['tool, busy', 'argument, some'],
  ['tool, busy', 'runtime, rare'],
  ['tool, given up long ago', 'user, busy'],
  ['tool, given up long ago', 'time, a day'],
  ['tools, pattern of 20', 'error phase'],
  ['runtime, rare', 'statuses, three'],
  ['status, frequent', 'runtime, frequent'],
  ['error phase', 'error text, rare'],
  ['approver', 'tool, busy'],
  ['time, a day', 'user, busy'],
  ['time, a day', 'statuses, three'],
  ['time, a day', 'argument, some'],
  ['time, a day', 'duration, rare'],
  ['time, a month long ago', 'tool, busy'],
  ['argument, third of all', 'argument, some'],
];

/** Filters by name. */
export function historyFilters(now: number): ReadonlyMap<string, ToolCallFilter> {
  const single = singles(now);
  const both = pairs.map(([a, b]): [string, ToolCallFilter] => {
    const [first = {}, second = {}] = [single[a], single[b]];
    const conditions = [...(first.arguments ?? []), ...(second.arguments ?? [])];
    const joined = { ...first, ...second };
    return [`${a} + ${b}`, conditions.length === 0 ? joined : { ...joined, arguments: conditions }];
  });
  return new Map([...Object.entries(single), ...both]);
}
