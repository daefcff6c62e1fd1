import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';

import { EventFeed } from '#jobs';

import { EventLogRepository } from '../../libs/jobs/src/events/event-log.repository.js';
import { roundRow } from '../../libs/jobs/src/rounds/round.part.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { endOf, openTestJobs, type TestJobs, writeOf } from '../harness/jobs.js';
import type { Seen } from './check.js';
import { problemsOf } from './checkers.js';
import type { LedgerEntry } from './tool-ledger.js';
import { type Viewer, watch } from './viewer.js';

const nothing: Seen = { viewers: [], ledger: { calls: [], effects: [] } };

describe('chaos checkers', () => {
  let database: TestDatabase;
  let jobs: TestJobs;
  let jobId: string;

  beforeEach(async () => {
    database = await createTestDatabase();
    jobs = await openTestJobs(database);
    jobId = await speak();
  });

  afterEach(async () => {
    await jobs.close();
    await database.close();
  });

  /** A job that streamed "Hello world" in two pieces after a withdrawn attempt. */
  const speak = async () => {
    const [started] = await jobs.start(1);
    const job = await jobs.claim(started?.jobId ?? '');
    const usage = { promptTokens: 0, completionTokens: 0, totalTokens: 0 };
    const piece = (offset: number, text: string) => ({ type: 'text-delta', body: { round: 1, offset, text } }) as const;
    const log = jobs.app.get(EventLogRepository);
    const restarted = {
      type: 'round-restarted',
      body: { round: 1, reason: 'broken', contentLength: 0, reasoningLength: 0 },
    } as const;
    const finished = {
      type: 'round-finished',
      body: { round: 1, finishReason: 'stop', usage, toolCallIds: [] },
    } as const;
    const row = roundRow(job, {
      ...{ number: 1, model: 'm', text: 'Hello world', reasoning: '', finishReason: 'stop', partial: false },
      ...{ promptTokens: 0, completionTokens: 0, usageEstimated: false, startedAt: 0 },
    });
    const write = writeOf(job, 1, { events: [piece(0, 'Hallo'), restarted, piece(0, 'Hello ')] });
    const counts = { ...write.counts, contentLength: 11 };
    await log.commit([write]);
    await log.commit([writeOf(job, 2, { events: [piece(6, 'world'), finished], rows: [row], counts })]);
    await log.commit([endOf(job, 3)]);
    return job.jobId;
  };
  /** Does what our own roles, checks and triggers would not let us do. */
  const damage = async (...statements: readonly string[]) => {
    const client = new pg.Client({ connectionString: database.urls.owner });
    await client.connect();
    await client.query("SET session_replication_role = 'replica'");
    for (const sql of statements) await client.query(sql);
    await client.end();
  };
  const watchAll = async () => {
    const viewer = watch(jobs.app.get(EventFeed), { workspaceId: jobs.workspaceId, jobId });
    await viewer.ended;
    return viewer;
  };
  const kindsOf = async (seen: Seen = nothing) =>
    [...new Set((await problemsOf(database, seen)).map((problem) => problem.split(':')[0]))].toSorted();

  it('find nothing in a valid database', async () => {
    const entry = { tool: 'charge', key: 'k', epoch: 1 };
    const seen = { viewers: [await watchAll()], ledger: { calls: [entry, entry], effects: [entry] } };
    expect(await problemsOf(database, seen)).toEqual([]);
  });

  it('find a job that never ended', async () => {
    await jobs.start(1);
    expect(await kindsOf()).toEqual(['liveness']);
  });

  it.each([
    ['a gap', ['DELETE FROM job_event WHERE seq = 2']],
    ['a missing end', [`DELETE FROM job_event WHERE type = 'job-finished'`, 'UPDATE job SET last_seq = last_seq - 1']],
    [
      'something after the end',
      [
        'UPDATE job SET last_seq = last_seq + 1',
        `INSERT INTO job_event SELECT workspace_id, job_id, seq + 1, epoch, 0, 'warning', '{}' FROM job_event
          WHERE type = 'job-finished'`,
      ],
    ],
    ['an end event of a job that still waits', [`UPDATE job SET status = 'waiting', finished_at = NULL`]],
  ])('find %s in the log', async (_what, statements) => {
    await damage(...statements);
    expect(await kindsOf()).toContain('log');
  });

  it.each([
    ['text that was stored otherwise', `UPDATE round SET text = 'Hello worlds'`],
    ['text that was withdrawn and stored', `UPDATE round SET text = 'HalloHello world'`],
    ['a piece at the wrong place', `UPDATE job_event SET body = jsonb_set(body, '{offset}', '7') WHERE seq = 6`],
    [
      'a withdrawal that left something',
      `UPDATE job_event SET body = jsonb_set(body, '{contentLength}', '2') WHERE seq = 4`,
    ],
    ['a length that is not the length', 'UPDATE job SET content_length = 12'],
  ])('find %s', async (_what, statement) => {
    await damage(statement);
    expect(await kindsOf()).toEqual(['text']);
  });

  it.each([
    ['an older epoch after a newer one', 'UPDATE job_event SET epoch = 0 WHERE seq = 4'],
    ['an epoch that no worker has had', 'UPDATE job_event SET epoch = 9 WHERE seq = 8'],
  ])('find %s', async (_what, statement) => {
    await damage(statement);
    expect(await kindsOf()).toEqual(['fence']);
  });

  it('find a repeated effect, a second letter and a result without an effect', async () => {
    const charge = { tool: 'charge', key: 'a', epoch: 1 };
    const letter = { tool: 'send_letter', key: 'b', epoch: 1 };
    const ledgers: (readonly [calls: LedgerEntry[], effects: LedgerEntry[]])[] = [
      [
        [charge, charge],
        [charge, charge],
      ],
      [[letter, { ...letter, epoch: 2 }], [letter]],
    ];
    for (const [calls, effects] of ledgers)
      expect(await kindsOf({ viewers: [], ledger: { calls, effects } })).toEqual(['effects']);
    await damage(
      `INSERT INTO tool_call (workspace_id, id, job_id, round, ordinal, call_id, name, arguments, effect, status, idem_key)
       SELECT workspace_id, id, id, 1, 1, 'c', 'charge', '{}', 'idempotent', 'completed', 'never called' FROM job`,
    );
    expect(await kindsOf()).toEqual(['effects']);
  });

  it('find a viewer that missed an event, received it twice or in another order', async () => {
    const viewer = await watchAll();
    const [first, second, ...rest] = viewer.events;
    if (first === undefined || second === undefined) throw new Error('there is more to see');
    const views: Viewer['events'][] = [
      [second, ...rest],
      [first, first, second, ...rest],
      [second, first, ...rest],
    ];
    for (const events of views) {
      const ledger = { calls: [], effects: [] };
      expect(await kindsOf({ viewers: [{ ...viewer, events }], ledger })).toEqual(['view']);
    }
  });
});
