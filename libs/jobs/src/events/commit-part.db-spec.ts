import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { newId } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { type CommitPart, partClauses, partParameters, partRow } from './commit-part.js';

type Row = readonly [
  workspaceId: string,
  jobId: string,
  text: string | null,
  number: number | null,
  instant: number | null,
  isTrue: boolean | null,
  texts: readonly string[] | null,
  numbers: readonly number[] | null,
  json: unknown,
  jsonb: unknown,
];

/** Has a column of each type and returns its input. */
const echo: CommitPart<Row> = {
  name: 'echo',
  columns: [
    ['workspace_id', 'uuid'],
    ['job_id', 'uuid'],
    ['text', 'text'],
    ['number', 'int'],
    ['instant', 'float8'],
    ['is_true', 'bool'],
    ['texts', 'text[]'],
    ['numbers', 'int[]'],
    ['as_json', 'json'],
    ['as_jsonb', 'jsonb'],
  ],
  sql: (rows) => `SELECT * FROM ${rows}`,
};

const [workspaceId, jobId] = [newId(), newId()];
/** Characters with a meaning in the array syntax of Postgres or in JSON. */
const text = fc.oneof(
  fc.constantFrom('', 'NULL', 'null', '{}', '{a,b}', '"', '\\', '\\"', ' a ', 'a,b', '\n\t', "'", '\\x00', '[]', '😀'),
  fc.string({ unit: 'grapheme' }).filter((given) => !given.includes('\0')),
);
const orNull = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: null });
const number = fc.integer({ min: -2_147_483_648, max: 2_147_483_647 });
const json = orNull(
  fc.oneof(text, number, fc.boolean(), fc.array(orNull(text)), fc.dictionary(fc.constant('a'), text)),
);
const given = fc.tuple(
  ...([fc.constant(workspaceId), fc.constantFrom(jobId, newId()), orNull(text), orNull(number)] as const),
  ...([
    orNull(fc.double({ noNaN: true }).filter((given) => !Object.is(given, -0))),
    orNull(fc.boolean()),
    orNull(fc.array(text)),
    orNull(fc.array(number)),
  ] as const),
  ...([json, json] as const),
);

describe('partClauses', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.close());

  const echoed = async (rows: readonly Row[]) => {
    const found = await database.postgres.workerPool.query<unknown[]>({
      text: `WITH up AS (SELECT $1::uuid AS workspace_id, $2::uuid AS id, 7 AS lease_epoch)${partClauses([echo], 3)}
        SELECT *, num_nulls(as_json, as_jsonb) FROM echo`,
      values: [
        workspaceId,
        jobId,
        ...partParameters(
          [echo],
          rows.map((row) => partRow(echo, row)),
        ),
      ],
      rowMode: 'array',
    });
    return found.rows;
  };

  it('passes each row unchanged with its epoch and drops rows of jobs without a valid lease', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(given, { minLength: 1, maxLength: 20 }), async (rows) => {
        const valid = rows.filter((row) => row[1] === jobId);
        expect(await echoed(rows)).toEqual(
          valid.map((row) => [...row, 7, row.slice(-2).filter((value) => value === null).length]),
        );
      }),
      { numRuns: 200 },
    );
  });
});
