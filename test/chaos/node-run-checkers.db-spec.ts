import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';

import { apart } from '../harness/every-event.js';
import { textReply } from '../harness/scripted-reply.js';
import { agent, openWorkflowStage, type WorkflowStage } from '../harness/workflow-stage.js';
import { problemsOf } from './checkers.js';

let stage: WorkflowStage;
/** A job that went through a loop, a subflow, and past a node that was skipped. */
let ended: string;
/** A job that waits for a person. */
let waiting: string;

const output = { type: 'output', format: 'text' };
const echo = { type: 'transform', expression: 'input + "+"' };
const twice = { type: 'whileLoop', loopMode: 'fixed', maxIterations: 2 };
const check = { type: 'schemaValidation', spec: { type: 'object' }, onInvalid: 'route' };

beforeAll(async () => {
  stage = await openWorkflowStage();
  const child = await stage.publish({ a: echo, b: echo }, ['start -> a', 'a -> b']);
  const sub = { type: 'subflow', subflowId: child, inputMappings: { input: '{{input}}' } };
  stage.script('Speak.', textReply(['Spoken.']));
  ended = await stage.run(
    { writer: agent('Speak.'), loop: twice, step: echo, mark: echo, sub, check, good: output, bad: output },
    [
      ...['start -> writer', 'writer -> loop', 'loop.body -> step', 'step -> mark', 'loop.done -> sub'],
      ...['sub -> check', 'check.output -> good', 'check.invalid -> bad'],
    ],
  );
  await stage.ended(ended);
  waiting = await stage.run({ boss: { type: 'approval', prompt: 'May it?' }, out: output }, [
    ...['start -> boss', 'boss -> out'],
  ]);
  await stage.waits(waiting);
  await damage(
    ...apart,
    ...tables.map((table) => `CREATE TABLE kept_${table} AS SELECT * FROM ${table}`),
    'GRANT SELECT ON ALL TABLES IN SCHEMA public TO PUBLIC',
  );
});
beforeEach(async () => {
  for (const table of tables) await damage(`DELETE FROM ${table}`, `INSERT INTO ${table} SELECT * FROM kept_${table}`);
});
afterAll(async () => {
  await stage.close();
});

const tables = ['node_run', 'job_event', 'round'];

/** Does what our own roles, checks and triggers would not let us do. `$ended` and `$waiting` stand for the jobs. */
async function damage(...statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: stage.database.urls.owner });
  await client.connect();
  await client.query("SET session_replication_role = 'replica'");
  try {
    for (const sql of statements)
      await client.query(sql.replaceAll('$ended', `'${ended}'`).replaceAll('$waiting', `'${waiting}'`));
  } finally {
    await client.end();
  }
}

async function nodeProblems(): Promise<readonly string[]> {
  const problems = await problemsOf(stage.database, { viewers: [], ledger: { calls: [], effects: [] } });
  return problems.filter((problem) => problem.startsWith('nodes: ')).map((problem) => problem.split(': ')[2] ?? '');
}

/** Two events of the job change places. */
function swapped(one: string, other: string): string {
  return `UPDATE job_event e SET type = o.type, body = o.body
     FROM job_event o, (SELECT (${one}) AS one, (${other}) AS other) AS seqs
    WHERE e.job_id = $ended AND o.job_id = $ended
      AND ((e.seq = seqs.one AND o.seq = seqs.other) OR (e.seq = seqs.other AND o.seq = seqs.one))`;
}
const seqOf = (type: string, node: string, pass = '') =>
  `SELECT seq FROM job_event WHERE job_id = $ended AND type = '${type}' AND body->>'nodeId' = '${node}'
      AND coalesce(body->>'iteration', '') = '${pass}'`;
const nodeRun = (node: string, pass = '{}') =>
  `job_id = $ended AND node_id = '${node}' AND coalesce(iteration, '{}') = '${pass}'`;

describe('chaos checkers of node runs', () => {
  it('find nothing in a valid database', async () => {
    expect(await problemsOf(stage.database, { viewers: [], ledger: { calls: [], effects: [] } })).toEqual([]);
    expect((await stage.runsOf(ended)).map(({ node, status }) => `${node} ${status}`)).toEqual([
      ...['start completed', 'writer completed', 'loop completed', 'step@1 completed', 'mark@1 completed'],
      ...['step@2 completed', 'mark@2 completed', 'sub completed', 'sf:sub|start completed', 'sf:sub|a completed'],
      ...['sf:sub|b completed', 'check completed', 'good skipped', 'bad completed'],
    ]);
  });

  it.each([
    ['a number that is missing', `DELETE FROM node_run WHERE ${nodeRun('start')}`, 'numbers its node runs 2,3,4'],
    ['a node that did not end', `UPDATE node_run SET status = 'active' WHERE ${nodeRun('bad')}`, 'bad is active'],
    [
      'a node that gave nothing',
      `UPDATE node_run SET output = NULL WHERE ${nodeRun('sub')}`,
      'sub is completed and gave',
    ],
    [
      'an end event with another status',
      `UPDATE node_run SET status = 'error' WHERE ${nodeRun('check')}`,
      'check was reported as completed and is error',
    ],
    [
      'a missing end event',
      `DELETE FROM job_event WHERE seq IN (${seqOf('node-finished', 'check')}) AND job_id = $ended`,
      'check has 0 end events',
    ],
    [
      'a duplicate end event',
      `INSERT INTO job_event SELECT workspace_id, job_id, seq + 1000, epoch, attempt, type, body FROM job_event
        WHERE job_id = $ended AND seq IN (${seqOf('node-finished', 'mark', '2')})`,
      'mark@2 has 2 end events',
    ],
    [
      'a duplicate start event',
      `INSERT INTO job_event SELECT workspace_id, job_id, seq + 1000, epoch, attempt, type, body FROM job_event
        WHERE job_id = $ended AND seq IN (${seqOf('node-started', 'writer')})`,
      'writer has 2 start events',
    ],
    [
      'a skipped node that began',
      `UPDATE node_run SET status = 'skipped' WHERE ${nodeRun('bad')}`,
      'bad has 1 start events',
    ],
    [
      'a beginning after the end',
      swapped(seqOf('node-started', 'writer'), seqOf('node-finished', 'writer')),
      'writer was started after its end',
    ],
    [
      'a model that was asked after the end',
      swapped(
        `SELECT seq FROM job_event WHERE job_id = $ended AND type = 'round-started' AND body->>'nodeId' = 'writer'`,
        seqOf('node-finished', 'writer'),
      ),
      'writer asked a model after its end',
    ],
    [
      'tokens that are not counted',
      `UPDATE node_run SET completion_tokens = 0 WHERE ${nodeRun('writer')}`,
      'writer counts 11 tokens and has used 18',
    ],
    [
      'a wave that did not wait for the one before',
      swapped(seqOf('node-finished', 'check'), seqOf('node-started', 'bad')),
      'bad began before check had ended',
    ],
    [
      'a wave inside of a subflow that did not wait',
      swapped(seqOf('node-finished', 'sf:sub|a'), seqOf('node-started', 'sf:sub|b')),
      'sf:sub|b began before sf:sub|a had ended',
    ],
    [
      'a wave inside of a loop that did not wait',
      swapped(seqOf('node-finished', 'step', '1'), seqOf('node-started', 'mark', '1')),
      'mark@1 began before step@1 had ended',
    ],
    [
      'a pass that did not wait for the one before',
      swapped(seqOf('node-finished', 'mark', '1'), seqOf('node-started', 'step', '2')),
      'step@2 began before mark@1 had ended',
    ],
    [
      'a node that began before what it is inside of',
      swapped(seqOf('node-started', 'loop'), seqOf('node-started', 'step', '1')),
      'step@1 began before loop',
    ],
    [
      'a node that ended after what it is inside of',
      swapped(seqOf('node-finished', 'sub'), seqOf('node-finished', 'sf:sub|b')),
      'sf:sub|b ended after sub',
    ],
    ['a node inside of nothing', `DELETE FROM node_run WHERE ${nodeRun('sub')}`, 'sf:sub|a ran inside of sub, which'],
    ['no nodes at all', 'DELETE FROM node_run WHERE job_id = $ended', 'ran no node'],
    ['a number that is missing at rest', 'DELETE FROM node_run WHERE job_id = $waiting AND ordinal = 1', 'node runs 2'],
  ])('find %s', async (_what, statement, problem) => {
    await damage(statement);
    expect(await nodeProblems()).toContainEqual(expect.stringContaining(problem));
  });

  it('find a node that ran twice', async () => {
    await damage(
      `INSERT INTO node_run SELECT (n).* FROM (SELECT jsonb_populate_record(node_run, '{"ordinal": 15}') AS n FROM node_run
        WHERE ${nodeRun('bad')}) copy`,
    );
    expect(await nodeProblems()).toContainEqual('ran bad twice');
  });
});
