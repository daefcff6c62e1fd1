import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';

import { scopeOf } from '#auth';
import { JobStopper } from '#jobs';
import { armCrashPoint, Config } from '#platform';
import { SubJobs } from '#tools';

import { CancelRepository } from '../../libs/jobs/src/cancel/cancel.repository.js';
import { eventually } from '../harness/eventually.js';
import { refuseRow } from '../harness/refuse-row.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';
import { openSubJobStage, type SubJobStage } from '../harness/sub-jobs.js';
import { agent } from '../harness/workflow-stage.js';

let names = 0;
const fresh = (word: string) => `${word}-${(names += 1)}`;
const replyText = (text: string) => textReply([text]);
const call = (name: string, input: string, id = `call_${input}`) => ({
  id,
  name,
  arguments: JSON.stringify({ input }),
});
const untilAsked = { q: { type: 'approval', prompt: 'Well?' } };

/** A chat about `line` that may call these. */
const chat = async (stage: SubJobStage, line: string, ...tools: readonly string[]) =>
  (await stage.ask(tools, { messages: [{ role: 'user', content: line }] })).jobId;
const toolTexts = (stage: SubJobStage, line: string) => {
  const messages = stage.asked(line).at(-1) ?? [];
  return messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
};

describe('sub-jobs', () => {
  let stage: SubJobStage;

  beforeAll(async () => {
    stage = await openSubJobStage();
  });

  afterEach(() => {
    stage.assertPlayed();
  });

  afterAll(async () => {
    await stage.close();
  });

  const statuses = async (ids: readonly string[]) => {
    const lines = await Promise.all(ids.map((id) => stage.line(id)));
    return lines.map(({ status, reason }) => [status, reason]);
  };

  /** A chat whose workflow has called another one, which waits for a person; gives their ids, outermost first, and who is asked in the outer two. */
  const threeDeep = async () => {
    const [inner, outer, line, prompt] = [fresh('inner'), fresh('outer'), fresh('ask'), fresh('pass')];
    await stage.offer(inner, untilAsked, ['start -> q']);
    await stage.offer(outer, { a: agent(prompt, { tools: [`workflow.${inner}`] }) }, ['start -> a']);
    stage.script(line, toolCallReply([call(`workflow.${outer}`, 'x')]));
    stage.script(prompt, toolCallReply([call(`workflow.${inner}`, 'y')]));
    const root = await chat(stage, line, `workflow.${outer}`);
    const [middle] = await stage.children(root, 1, 'waiting');
    const [leaf] = await stage.children(middle?.id ?? '', 1, 'waiting');
    // Of one that runs its worker stops its descendants as well.
    const ids = [root, middle?.id ?? '', leaf?.id ?? ''] as const;
    await eventually('all wait', async () =>
      (await statuses(ids)).every(([status]) => status === 'waiting') ? true : undefined,
    );
    return { ids, line, prompt };
  };
  const stopTree = (jobId: string) => stage.engine.app.get(JobStopper).stopTree(scopeOf(stage.people.member), jobId);

  it('end with their cancelled root at every depth', async () => {
    const { ids } = await threeDeep();
    expect(await stage.line(ids[2])).toMatchObject({ depth: 2, root: ids[0], parent: ids[1] });
    expect(await stopTree(ids[0])).toEqual({ state: 'aborted', stoppedSubJobs: 2 });
    expect(await statuses(ids)).toEqual([
      ['cancelled', 'cancelled'],
      ['cancelled', 'parent_stopped'],
      ['cancelled', 'parent_stopped'],
    ]);
    const open = await stage.rows(
      `SELECT 1 FROM interrupt WHERE job_id = ANY($1) AND status = 'open'
       UNION ALL SELECT 1 FROM tool_call WHERE job_id = ANY($1) AND status = 'running'`,
      [ids],
    );
    expect(open).toEqual([]);
  });

  it('count in the result of a cancel even if a worker cancels them first', async () => {
    const { ids } = await threeDeep();
    const cancels = stage.engine.app.get(CancelRepository);
    const read = cancels.openDescendants.bind(cancels);
    const { workspaceId } = scopeOf(stage.people.member);
    let isFirst = true;
    const spy = jest.spyOn(cancels, 'openDescendants').mockImplementation(async (job) => {
      if (isFirst && (await stage.line(ids[0])).status === 'cancelled') {
        isFirst = false;
        await stage.engine.app.get(JobStopper).cancelTree({ workspaceId, jobId: ids[1] });
      }
      return read(job);
    });
    expect(await stopTree(ids[0])).toEqual({ state: 'aborted', stoppedSubJobs: 2 });
    spy.mockRestore();
  });

  it('end with their cancelled root although one between them cannot be cancelled', async () => {
    const { ids } = await threeDeep();
    const allow = await refuseRow(stage.database, { table: 'job', id: ids[1], on: 'UPDATE' });
    try {
      await expect(stopTree(ids[0])).rejects.toThrow();
      expect((await statuses(ids)).map(([status]) => status)).toEqual(['cancelled', 'waiting', 'cancelled']);
    } finally {
      await allow();
    }
    await stopTree(ids[0]);
    expect((await statuses(ids)).map(([status]) => status)).toEqual(['cancelled', 'cancelled', 'cancelled']);
  });

  it('end with their cancelled root also when it had ended before', async () => {
    const { ids } = await threeDeep();
    // As if the process that ended it had been lost before it cancelled the descendants.
    await stage.rows(
      `UPDATE job SET status = 'failed', reason = 'internal', finished_at = clock_timestamp(), lease_epoch = lease_epoch + 1
        WHERE id = $1`,
      [ids[0]],
    );
    expect(await stopTree(ids[0])).toEqual({ state: 'already_terminal', stoppedSubJobs: 2 });
    expect(await stopTree(ids[0])).toEqual({ state: 'already_terminal', stoppedSubJobs: 0 });
    expect((await statuses(ids)).map(([status]) => status)).toEqual(['failed', 'cancelled', 'cancelled']);
  });

  it('end by the sweeper when their call has ended but they still run', async () => {
    const { ids } = await threeDeep();
    await stage.rows(
      `WITH ended AS (UPDATE tool_call SET status = 'cancelled', finished_at = clock_timestamp() WHERE job_id = $1)
       UPDATE job SET status = 'failed', reason = 'internal', finished_at = clock_timestamp() WHERE id = $1`,
      [ids[0]],
    );
    await stage.sweep();
    expect((await statuses(ids)).map(([status]) => status)).toEqual(['failed', 'cancelled', 'cancelled']);
  });

  it('end alone when cancelled while their parent job continues', async () => {
    const { ids, line, prompt } = await threeDeep();
    const [root, middle, leaf] = ids;
    stage.script(prompt, replyText('stopped below'));
    stage.script(line, replyText('all right'));
    expect(await stopTree(leaf)).toEqual({ state: 'aborted', stoppedSubJobs: 0 });
    expect(await stage.ended(root)).toMatchObject({ status: 'completed', content: 'all right' });
    expect(await stage.line(middle)).toMatchObject({ status: 'completed' });
  });

  it('number at most three per job, ended ones included, and the model gets the reason for the fourth', async () => {
    const [name, line] = [fresh('asks'), fresh('ask')];
    await stage.offer(name, untilAsked, ['start -> q']);
    const calls = ['a', 'b', 'c', 'd'].map((input) => call(`workflow.${name}`, input));
    stage.script(line, toolCallReply(calls), toolCallReply([call(`workflow.${name}`, 'e')]), replyText('enough'));
    const jobId = await chat(stage, line, `workflow.${name}`);
    const children = await stage.children(jobId, 3, 'waiting');
    for (const { id } of children) await stage.answer((await stage.waits(id))[0], { action: 'approve' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'enough' });
    const refused = `Error executing tool "workflow.${name}": A job can start at most 3 jobs; this job has reached the limit`;
    expect(toolTexts(stage, line)).toEqual(['a', 'b', 'c', refused, refused]);
  });

  it('nest at most two levels deep', async () => {
    const [a, b, c, line] = [fresh('a'), fresh('b'), fresh('c'), fresh('ask')];
    const [first, second] = [fresh('first'), fresh('second')];
    await stage.offer(c, { t: { type: 'transform', expression: 'input' } }, ['start -> t']);
    await stage.offer(b, { a: agent(second, { tools: [`workflow.${c}`] }) }, ['start -> a']);
    await stage.offer(a, { a: agent(first, { tools: [`workflow.${b}`] }) }, ['start -> a']);
    stage.script(line, toolCallReply([call(`workflow.${a}`, 'x')]), replyText('done'));
    stage.script(first, toolCallReply([call(`workflow.${b}`, 'x')]), replyText('ok'));
    stage.script(second, toolCallReply([call(`workflow.${c}`, 'x')]), replyText('no deeper'));
    const jobId = await chat(stage, line, `workflow.${a}`);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed' });
    expect(toolTexts(stage, second)).toEqual([
      `Error executing tool "workflow.${c}": Sub-jobs can be nested at most 2 levels deep`,
    ]);
  });

  it('count against the limit of their user', async () => {
    const [name, line] = [fresh('capped'), fresh('ask')];
    await stage.offer(name, untilAsked, ['start -> q']);
    const cap = (jobs: number) =>
      stage.database.postgres.withWorkspaceSql(stage.people.owner.workspaceId, (client) =>
        client.query(`UPDATE workspace SET max_jobs_per_user = $1, when_full = 'reject'`, [jobs]),
      );
    const [unfinished] = await stage.rows<{ jobs: number }>(
      `SELECT count(*)::int AS jobs FROM job WHERE status = 'running' OR status = 'queued' AND NOT in_line`,
    );
    await cap((unfinished?.jobs ?? 0) + 1);
    stage.script(line, toolCallReply([call(`workflow.${name}`, 'x')]), replyText('later'));
    const jobId = await chat(stage, line, `workflow.${name}`);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'later' });
    await cap(1000);
    expect(toolTexts(stage, line)).toEqual([
      expect.stringContaining(
        `Error executing tool "workflow.${name}": Server busy, try again later: a user runs at most`,
      ),
    ]);
  });
});

describe('sub-job with lost hints', () => {
  let stage: SubJobStage;

  beforeAll(async () => {
    stage = await openSubJobStage({ hints: false });
  });

  afterEach(() => {
    armCrashPoint(Config.from({ NODE_ENV: 'test' }));
    stage.assertPlayed();
  });

  afterAll(async () => {
    await stage.close();
  });

  const transform = { t: { type: 'transform', expression: 'input' } };

  it('starts exactly once by the sweeper when its start was lost', async () => {
    const [name, line] = [fresh('lost'), fresh('ask')];
    await stage.offer(name, transform, ['start -> t']);
    stage.script(line, toolCallReply([call(`workflow.${name}`, 'x')]), replyText('found'));
    armCrashPoint(Config.from({ NODE_ENV: 'test', CRASH_POINT: 'before-sub-job:throw' }));
    const jobId = await chat(stage, line, `workflow.${name}`);
    await stage.waits(jobId);
    expect(await stage.children(jobId, 0)).toEqual([]);
    await Promise.all([stage.sweep(), stage.sweep(), stage.sweep()]);
    await stage.children(jobId, 1, 'completed');
    await Promise.all([stage.sweep(), stage.sweep(), stage.sweep()]);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'found' });
    expect(await stage.children(jobId, 1)).toHaveLength(1);
    expect(toolTexts(stage, line)).toEqual(['x']);
  });

  it('starts at a later sweep when another start locks the workspace for too long', async () => {
    const [name, line] = [fresh('held'), fresh('ask')];
    await stage.offer(name, transform, ['start -> t']);
    stage.script(line, toolCallReply([call(`workflow.${name}`, 'x')]), replyText('in the end'));
    armCrashPoint(Config.from({ NODE_ENV: 'test', CRASH_POINT: 'before-sub-job:throw' }));
    const jobId = await chat(stage, line, `workflow.${name}`);
    await stage.waits(jobId);
    await stage.database.postgres.withWorkspaceSql(stage.people.owner.workspaceId, async (client) => {
      await client.query('SELECT 1 FROM workspace FOR UPDATE');
      await stage.sweep();
    });
    await stage.sweep();
    await stage.children(jobId, 1, 'completed');
    await stage.sweep();
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'in the end' });
    expect(toolTexts(stage, line)).toEqual(['x']);
  });

  it('returns its result once by the sweep after it has ended', async () => {
    const [name, line] = [fresh('late'), fresh('ask')];
    await stage.offer(name, transform, ['start -> t']);
    stage.script(line, toolCallReply([call(`workflow.${name}`, 'x')]), replyText('at last'));
    const jobId = await chat(stage, line, `workflow.${name}`);
    await stage.children(jobId, 1, 'completed');
    expect(await stage.waits(jobId)).toEqual([]);
    await Promise.all([stage.sweep(), stage.sweep()]);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'at last' });
    const ends = (await stage.eventsOf(jobId, 'tool-call-updated')).filter(
      ({ body }) => body['internalStatus'] === 'completed',
    );
    expect(ends).toHaveLength(1);
  });

  describe('with queue messages', () => {
    const messages = (jobId: string) =>
      stage.rows<{ state: string; inMs: number }>(
        `SELECT state, (extract(epoch FROM start_after - created_on) * 1000)::float8 AS "inMs" FROM pgboss.job
          WHERE name = 'sub-job.due' AND data->>'jobId' = $1 ORDER BY created_on`,
        [jobId],
      );
    /** A chat whose workflow waits for a person, and that workflow's job. */
    const waitingSubJob = async (...replies: readonly string[]) => {
      const [name, line] = [fresh('asks'), fresh('ask')];
      await stage.offer(name, untilAsked, ['start -> q']);
      stage.script(line, toolCallReply([call(`workflow.${name}`, 'x')]), ...replies.map(replyText));
      const root = await chat(stage, line, `workflow.${name}`);
      const [child] = await stage.children(root, 1, 'waiting');
      await eventually('the chat waits', async () =>
        (await stage.line(root)).status === 'waiting' ? true : undefined,
      );
      return { root, childId: child?.id ?? '' };
    };

    afterEach(async () => {
      await stage.engine.app.get(SubJobs).stop();
    });

    it('starts by the delayed message of the commit of its call when its start was lost', async () => {
      const [name, line] = [fresh('lost'), fresh('ask')];
      await stage.offer(name, transform, ['start -> t']);
      stage.script(line, toolCallReply([call(`workflow.${name}`, 'x')]), replyText('found'));
      armCrashPoint(Config.from({ NODE_ENV: 'test', CRASH_POINT: 'before-sub-job:throw' }));
      const jobId = await chat(stage, line, `workflow.${name}`);
      await stage.waits(jobId);
      const [sent] = await messages(jobId);
      expect(sent?.state).toBe('created');
      expect(sent?.inMs).toBeGreaterThan(0);
      await stage.rows('UPDATE pgboss.job SET start_after = created_on WHERE name = $1', ['sub-job.due']);
      await stage.engine.app.get(SubJobs).start();
      expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'found' });
      expect(await stage.children(jobId, 1, 'completed')).toHaveLength(1);
    });

    it('returns its result by the message of the transaction that ends it', async () => {
      const { root, childId } = await waitingSubJob('answered');
      await stage.rows(`DELETE FROM pgboss.job WHERE name = 'sub-job.due'`);
      await stage.answer((await stage.waits(childId))[0], { action: 'approve' });
      await stage.children(root, 1, 'completed');
      expect(await messages(root)).toMatchObject([{ state: 'created' }]);
      await stage.engine.app.get(SubJobs).start();
      expect(await stage.ended(root)).toMatchObject({ status: 'completed', content: 'answered' });
    });

    it('returns its cancellation by the message of the transaction that cancels it', async () => {
      const { root, childId } = await waitingSubJob('answered');
      await stage.rows(`DELETE FROM pgboss.job WHERE name = 'sub-job.due'`);
      await stage.engine.app.get(JobStopper).stop(scopeOf(stage.people.member), childId);
      expect(await messages(root)).toMatchObject([{ state: 'created' }]);
      await stage.engine.app.get(SubJobs).start();
      expect(await stage.ended(root)).toMatchObject({ status: 'completed', content: 'answered' });
    });

    it('ends by the message of the transaction that cancels its parent', async () => {
      const { root, childId } = await waitingSubJob();
      await stage.rows(`DELETE FROM pgboss.job WHERE name = 'sub-job.due'`);
      const cancels = stage.engine.app.get(CancelRepository, { strict: false });
      const { workspaceId } = stage.people.member;
      const order = { workspaceId, jobId: root, by: 'system', reason: 'cancelled' };
      // As if the process had been lost right after this transaction.
      await cancels.inWorkspace(workspaceId, (tx) => cancels.cancel(tx, order));
      expect(await messages(root)).toMatchObject([{ state: 'created' }]);
      expect((await stage.line(childId)).status).toBe('waiting');
      await stage.engine.app.get(SubJobs).start();
      await stage.children(root, 1, 'cancelled');
    });
  });
});
