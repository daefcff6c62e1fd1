import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { JobStarter } from '#jobs';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { openTestJobs, type TestJobs } from '../../../../test/harness/jobs.js';
import { layOutNodeRuns } from '../../../../test/harness/node-runs.js';
import { type RunState, RunStateRepository } from './run-state.repository.js';

let database: TestDatabase;
let jobs: TestJobs;

beforeAll(async () => {
  database = await createTestDatabase();
  jobs = await openTestJobs(database);
});
afterAll(async () => {
  await jobs.close();
  await database.close();
});

type Fact = readonly [type: string, body: unknown];
const started = (nodeId: string): Fact => ['node-started', { nodeId }];
const delta = (round: number, text: string, place: object): Fact => ['text-delta', { round, text, ...place }];
const packed = (...facts: readonly Fact[]): Fact => ['packed', facts];

/** A job with an agent `a` and a parallel node `p` at work, and this log. */
async function stateWith(...log: readonly Fact[]): Promise<RunState> {
  const { jobId } = await jobs.app.get(JobStarter).start(jobs.request({ kind: 'workflow' }));
  const { workspaceId } = jobs;
  const runs = [
    { nodeId: 'done' },
    { nodeId: 'a', status: 'active' },
    { nodeId: 'p', type: 'parallel', status: 'active' },
  ];
  await layOutNodeRuns(database, { workspaceId, jobId, status: 'queued' }, runs);
  let seq = 1;
  for (const [type, body] of log) {
    const events = type === 'packed' ? (body as readonly Fact[]).length : 1; // see above
    seq += events;
    await jobs.rows(
      `INSERT INTO job_event (workspace_id, job_id, seq, epoch, attempt, type, body, events, at) VALUES ($1, $2, $3, 1, 0, $4, $5, $6, now())`,
      [workspaceId, jobId, seq, type, JSON.stringify(body), events],
    );
  }
  const state = await new RunStateRepository(jobs.platform.prisma).read(workspaceId, jobId);
  if (state === null) throw new Error('the job does not exist');
  return state;
}

describe('the streamed text of active nodes', () => {
  const texts = ({ streamed }: RunState) => streamed.map(({ nodeId, branch, text }) => [nodeId, branch, text]);

  it('contains each conversation, with the model of the newest', async () => {
    const state = await stateWith(
      ...[started('a'), started('p'), ['round-started', { nodeId: 'a', round: 1, model: 'asked' }] as const],
      ...[delta(1, 'Dear ', { nodeId: 'a', offset: 0 }), delta(2, 'left', { nodeId: 'p', branchId: 'l' })],
      ...[delta(3, 'right', { nodeId: 'p', branchId: 'r' }), delta(1, 'Sir', { nodeId: 'a', offset: 5 })],
      // Shown again as content alone.
      delta(1, 'Sir', { offset: 5 }),
    );
    expect(texts(state)).toEqual([
      ['a', null, 'Dear Sir'],
      ['p', 'l', 'left'],
      ['p', 'r', 'right'],
    ]);
    expect(state.runs.map(({ nodeId, model }) => [nodeId, model])).toEqual([
      ['done', null],
      ['a', 'asked'],
      ['p', null],
    ]);
  });

  it('omits withdrawn text and text of an earlier pass, wherever the start of the node is written', async () => {
    const before = [started('a'), delta(1, 'first pass', { nodeId: 'a' })];
    const after = [
      delta(2, 'broken', { nodeId: 'a' }),
      ['round-restarted', { round: 2, nodeId: 'a' }] as const,
      delta(2, 'whole', { nodeId: 'a' }),
    ];
    expect(texts(await stateWith(...before, started('a'), ...after))).toEqual([['a', null, 'whole']]);
    const inRow = packed(started('other'), started('a'), started('another'));
    expect(texts(await stateWith(...before, inRow, ...after))).toEqual([['a', null, 'whole']]);
  });

  it('takes the state of branches from their newest events', async () => {
    const { published } = await stateWith(
      ...[started('p'), ['branch-started', { nodeId: 'p', branchId: 'r', label: 'Right' }] as const],
      ['branch-started', { nodeId: 'p', branchId: 'l', label: 'Left' }],
      ['branch-finished', { nodeId: 'p', branchId: 'r', label: 'Right', status: 'completed', output: 'so' }],
    );
    expect(published).toEqual([
      { nodeId: 'p', branch: 'r', label: 'Right', status: 'completed', text: 'so', bytes: 2 },
      { nodeId: 'p', branch: 'l', label: 'Left', status: null, text: '', bytes: 0 },
    ]);
  });
});
