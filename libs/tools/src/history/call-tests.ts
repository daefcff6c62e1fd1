import { firstIdAt } from '#platform';

import { argumentContent } from './argument-content.js';
import type { Bind } from './statement.js';
import { likeOf, outcomePatterns, type ToolCallFilter, wordsOf } from './tool-call-filter.js';

/** The aspects of a call that a filter can test. Fields that one index serves together are one aspect. */
export type Aspect =
  | 'user'
  | 'thread'
  | 'job'
  | 'workflow'
  | 'tool'
  | 'runtime'
  | 'outcome'
  | 'approver'
  | 'time'
  | 'duration'
  | 'arguments'
  | 'words';

/** A field of a filter as SQL. */
export interface CallTest {
  readonly aspect: Aspect;
  /** The columns that the test reads. */
  readonly columns: readonly string[];
  /** Whether the row with this alias matches. */
  readonly sql: (row: string, bind: Bind) => string;
}

/** An id is made a little before its row, possibly by another clock. */
const ID_SLACK_MS = 60_000;

/** The range of ids that contains the time span of a filter, with some slack. The tests check its ends exactly. */
export function idsOf({ createdAfter, createdBefore }: ToolCallFilter): {
  readonly after: string;
  readonly before: string;
} {
  return {
    after: createdAfter === undefined ? FIRST_ID : firstIdAt(createdAfter - ID_SLACK_MS),
    before: createdBefore === undefined ? LAST_ID : firstIdAt(createdBefore + ID_SLACK_MS),
  };
}

const FIRST_ID = '00000000-0000-0000-0000-000000000000';
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** The tests of a filter on a row. */
export function callTests(filter: ToolCallFilter): readonly CallTest[] {
  return [...equalTests(filter), ...choiceTests(filter), ...contentTests(filter), ...timeTests(filter)];
}

function equalTests(filter: ToolCallFilter): CallTest[] {
  const columns = [
    ['user', 'created_by', filter.createdBy, 'uuid'],
    ['thread', 'thread_id', filter.threadId, 'uuid'],
    ['job', 'job_id', filter.jobId, 'uuid'],
    ['workflow', 'workflow_id', filter.workflowId, 'uuid'],
    ['approver', 'decided_by', filter.approver, 'text'],
  ] as const;
  return columns.flatMap(([aspect, column, value, type]) =>
    value === undefined ? [] : [simpleTest(aspect, column, ['=', value, type])],
  );
}

type Comparison = readonly [operator: string, value: unknown, type: string];

function simpleTest(aspect: Aspect, column: string, [operator, value, type]: Comparison): CallTest {
  const isList = type.endsWith('[]');
  const sql = (row: string, bind: Bind) => {
    const bound = bind(value, type);
    return `${row}.${column} ${operator} ${isList ? `ANY (${bound})` : bound}`;
  };
  return { aspect, columns: [column], sql };
}

function choiceTests(filter: ToolCallFilter): CallTest[] {
  const { tool, runtimes, statuses, errorPhase, errorCode, minDurationMs, maxDurationMs } = filter;
  const like = tool === undefined ? null : likeOf(tool);
  const name: Comparison = like === null ? ['=', tool, 'text'] : ['LIKE', like, 'text'];
  const isFailure = errorPhase !== undefined || errorCode !== undefined;
  return [
    ...(tool === undefined ? [] : [simpleTest('tool', 'name', name)]),
    ...(runtimes === undefined ? [] : [simpleTest('runtime', 'runtime', ['=', runtimes, 'text[]'])]),
    ...(statuses === undefined ? [] : [simpleTest('outcome', 'status', ['=', statuses, 'text[]'])]),
    ...(isFailure ? [simpleTest('outcome', 'outcome', ['LIKE', outcomePatterns(filter), 'text[]'])] : []),
    ...(minDurationMs === undefined ? [] : [simpleTest('duration', 'duration_ms', ['>=', minDurationMs, 'int'])]),
    ...(maxDurationMs === undefined ? [] : [simpleTest('duration', 'duration_ms', ['<', maxDurationMs, 'int'])]),
  ];
}

function contentTests({ arguments: conditions = [], errorText }: ToolCallFilter): CallTest[] {
  const tests: CallTest[] = [];
  if (conditions.length > 0) {
    const sql = (row: string, bind: Bind) => `${row}.argument_keys @> ARRAY(
      SELECT tool_call_key(s.seed, c) FROM unnest(${bind(conditions.map(argumentContent), 'text[]')}) AS c,
             (SELECT tool_call_seed(${row}.workspace_id, tool_call_day(${row}.id)) AS seed OFFSET 0) AS s)`;
    tests.push({ aspect: 'arguments', columns: ['workspace_id', 'id', 'argument_keys'], sql });
  }
  if (errorText !== undefined) {
    const words = wordsOf(errorText);
    // `strpos` finds the first word without splitting a text into words, so other texts are not split.
    const sql = (
      row: string,
      bind: Bind,
    ) => `CASE WHEN strpos(lower(${row}.error ->> 'message'), ${bind(words[0], 'text')}) > 0
      THEN tool_call_words(${row}.error ->> 'message') @> ${bind(words, 'text[]')} ELSE false END`;
    tests.push({ aspect: 'words', columns: ['error'], sql });
  }
  return tests;
}

/** Reads a row only near the ends of the time span; elsewhere its id is sufficient. */
function timeTests({ createdAfter, createdBefore }: ToolCallFilter): CallTest[] {
  const ends = [
    { at: createdAfter, operator: '>=', inside: ID_SLACK_MS },
    { at: createdBefore, operator: '<', inside: -ID_SLACK_MS },
  ];
  return ends.flatMap(({ at, operator, inside }) => {
    if (at === undefined) return [];
    const sql = (row: string, bind: Bind) => {
      const id = (ms: number) => `${row}.id ${operator} ${bind(firstIdAt(ms), 'uuid')}`;
      const exactly = `c.created_at ${operator} ${bind(new Date(at).toISOString(), 'timestamptz')}`;
      return `CASE WHEN ${id(at + inside)} THEN true WHEN NOT (${id(at - inside)}) THEN false
        ELSE (SELECT ${exactly} FROM tool_call c WHERE c.workspace_id = ${row}.workspace_id AND c.id = ${row}.id) END`;
    };
    return [{ aspect: 'time', columns: ['workspace_id', 'id'], sql }];
  });
}
