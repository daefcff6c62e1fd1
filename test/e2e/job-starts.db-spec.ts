import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';

import { parseApprovalPolicy } from '#approvals';
import { scopeOf } from '#auth';
import { AgentsService, ChatService } from '#chat';
import { JobStopper } from '#jobs';
import { AppError, newId, type PrismaTransaction } from '#platform';

import { JobStarter } from '../../libs/jobs/src/start/job-starter.js';
import { StartRepository } from '../../libs/jobs/src/start/start.repository.js';
import type { StartRequest } from '../../libs/jobs/src/start/start-request.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { openTestJobs, type TestJobs } from '../harness/jobs.js';
import { createGate, type Reply, textReply, toolCallReply } from '../harness/scripted-reply.js';
import { openSubJobStage, type SubJobStage } from '../harness/sub-jobs.js';

const limits = { MAX_UNFINISHED_JOBS: '5', MAX_UNFINISHED_JOBS_PER_USER: '3' };

describe('limits of stored jobs', () => {
  let database: TestDatabase;
  let jobs: TestJobs;

  beforeAll(async () => {
    database = await createTestDatabase();
    jobs = await openTestJobs(database, limits);
  });
  afterAll(async () => {
    await jobs.close();
    await database.close();
  });

  const asOwner = async (sql: string, values: unknown[] = []): Promise<void> => {
    const owner = new pg.Client({ connectionString: database.urls.owner });
    await owner.connect();
    await owner.query('SET synchronous_commit = on'); // otherwise the vacuum may not mark the new rows as visible
    await owner.query(sql, values);
    await owner.end();
  };
  const workspace = async (): Promise<string> => {
    const workspaceId = newId();
    await asOwner(`INSERT INTO workspace (id, name) VALUES ($1, 'Test')`, [workspaceId]);
    return workspaceId;
  };
  const start = (request: StartRequest) =>
    jobs.app
      .get(JobStarter)
      .start(request)
      .then(
        ({ replayed }) => (replayed ? 'replayed' : 'started'),
        (error: unknown) => (error instanceof AppError ? error.message : String(error)),
      );

  it('accept a start of a full user that replays a key or supersedes jobs, and refuse other starts', async () => {
    const workspaceId = await workspace();
    const own = { workspaceId, createdBy: newId() };
    const thread = { ref: newId(), createTitle: 'T' };
    const keyed = jobs.request({ ...own, idempotency: { key: newId(), requestHash: '00' } });
    expect(await start(keyed)).toBe('started');
    for (let i = 0; i < 2; i += 1) {
      expect(await start(jobs.request({ ...own, thread, whenBusy: 'enqueue' }))).toBe('started');
    }
    const full = expect.stringContaining('(MAX_UNFINISHED_JOBS_PER_USER)');
    expect(await start(jobs.request({ ...own, thread: { ref: newId(), createTitle: 'T', isNew: true } }))).toEqual(
      full,
    );
    expect(await start(jobs.request({ ...own, thread, whenBusy: 'enqueue' }))).toEqual(full);
    expect(await start({ ...keyed, jobId: newId() })).toBe('replayed');
    expect(await start(jobs.request({ ...own, thread, whenBusy: 'interrupt' }))).toBe('started');
  });

  it('accept exactly as many starts of several users as the workspace may store', async () => {
    const workspaceId = await workspace();
    const ends: string[] = [];
    for (let i = 0; i < 7; i += 1) ends.push(await start(jobs.request({ workspaceId, createdBy: newId() })));
    expect(ends.slice(0, 5)).toEqual(Array.from({ length: 5 }, () => 'started'));
    for (const end of ends.slice(5)) expect(end).toContain('(MAX_UNFINISHED_JOBS)');
  });

  it('count thousands of waiting jobs in the index of unfinished jobs, without their rows', async () => {
    const workspaceId = await workspace();
    const createdBy = newId();
    await start(jobs.request({ workspaceId, createdBy }));
    await asOwner(
      `INSERT INTO job SELECT (jsonb_populate_record(j, jsonb_build_object('id', uuidv7(), 'status', 'waiting',
              'created_by', CASE WHEN n % 10 = 0 THEN j.created_by ELSE md5((n % 40)::text)::uuid END))).*
         FROM job j, generate_series(1, 10000) AS n WHERE j.workspace_id = $1`,
      [workspaceId],
    );
    await asOwner('VACUUM ANALYZE job');
    const open = await openTestJobs(database);
    const sent: [sql: string, ...values: unknown[]][] = [];
    await open.app.get(StartRepository).inWorkspace(workspaceId, async (tx) => {
      const recording = Object.create(tx, {
        $queryRawUnsafe: {
          value: (sql: string, ...values: unknown[]) => {
            sent.push([sql, ...values]);
            return tx.$queryRawUnsafe(sql, ...values);
          },
        },
      }) as PrismaTransaction;
      await open.app.get(StartRepository).facts(recording, workspaceId, [open.request({ workspaceId, createdBy })]);
    });
    await open.close();
    const [load = '', ...values] = sent.find(([sql]) => sql.includes('unfinished')) ?? [];
    const plan = await database.prisma.withWorkspace({ workspaceId }, async (tx) => {
      const explained = await tx.$queryRawUnsafe<{ 'QUERY PLAN': string }[]>(
        `EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF, BUFFERS) ${load}`,
        ...values,
      );
      return explained.map((row) => row['QUERY PLAN']).join('\n');
    });
    expect(plan.match(/Index Only Scan using job_unfinished .*\(actual/g)).toHaveLength(2);
    expect(plan).not.toMatch(/(Seq|Bitmap Heap|Index) Scan (using \S+ )?on job .*\(actual/);
  });
});

const jobTools = ['start_job', 'get_jobs', 'job_result'];
let names = 0;
const fresh = (word: string) => `${word}-${(names += 1)}`;
const replyText = (text: string) => textReply([text]);
const call = (name: string, args: object, id = `call_${name}`) => ({ id, name, arguments: JSON.stringify(args) });

describe('start_job in a chat', () => {
  let stage: SubJobStage;

  beforeAll(async () => {
    stage = await openSubJobStage({ env: { FEATURE_SUB_JOBS: 'true', MAX_ROUNDS: '30', MODEL_NAME: 'scripted' } });
  });

  afterEach(() => {
    stage.assertPlayed();
  });

  afterAll(async () => {
    await stage.close();
  });

  const workspaceOf = () => stage.people.owner.workspaceId;
  const wanted = (prompt: string, changes: object = {}) => ({
    ...{ workspace: workspaceOf(), model: 'scripted', prompt },
    ...changes,
  });
  const starting = (prompt: string, changes: object = {}) =>
    toolCallReply([call('start_job', wanted(prompt, changes))]);
  const chat = async (line: string, tools: readonly string[] = jobTools, threadRef?: string) =>
    stage.ask(tools, {
      messages: [{ role: 'user', content: line }],
      ...(threadRef === undefined ? {} : { threadRef }),
    });
  /** The tool results in the requests with this line. */
  const resultsOf = (line: string) =>
    (stage.asked(line).at(-1) ?? []).flatMap(({ role, content }) => (role === 'tool' ? [String(content)] : []));
  const handleOf = (text: string | undefined) => JSON.parse(text ?? '') as Readonly<Record<string, unknown>>;
  /** Once this line has read something from a tool: what is answered to it. */
  const answering = (line: string, reply: (read: string) => Reply) => {
    stage.model.answer((request) => {
      const messages = request.json['messages'] as readonly { role: string; content: unknown }[]; // as the client sends them
      if (!messages.some(({ content }) => content === line)) return undefined;
      const last = messages.at(-1);
      return last?.role === 'tool' ? reply(String(last.content)) : undefined;
    });
  };

  it('returns a handle at once, and the job continues in its own thread after the end of the chat', async () => {
    const [line, task] = [fresh('ask'), fresh('task')];
    const gate = createGate();
    stage.script(line, starting(task), replyText('It is under way.'));
    stage.script(task, { body: [gate, ...replyText('Done.').body] });
    const { jobId, threadId } = await chat(line);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'It is under way.' });
    const [child] = await stage.children(jobId, 1, 'running');
    const handle = handleOf(resultsOf(line)[0]);
    expect(handle).toEqual({
      job_id: child?.id,
      thread_id: expect.any(String),
      status: expect.stringMatching(/^(queued|running)$/),
      depth: 1,
      tools: jobTools,
      parent_job_id: jobId,
    });
    expect(handle['thread_id']).not.toBe(threadId);
    await stage.sweep();
    gate.open();
    expect(await stage.ended(child?.id ?? '')).toMatchObject({ status: 'completed', content: 'Done.' });
    const messages = await stage.database.postgres.withWorkspaceSql(
      workspaceOf(),
      async (client) =>
        (
          await client.query<{ thread: string; text: string }>(
            `SELECT thread_id AS thread, content#>>'{}' AS text FROM message WHERE role = 'user' AND thread_id IN ($1, $2) ORDER BY id`,
            [threadId, handle['thread_id']],
          )
        ).rows,
    );
    expect(messages).toEqual([
      { thread: threadId, text: line },
      { thread: handle['thread_id'], text: task },
    ]);
  });

  it('returns the result by job_result, which waits for a running job', async () => {
    const [line, task] = [fresh('ask'), fresh('task')];
    stage.script(line, starting(task));
    stage.script(task, replyText('Forty-two.'));
    let reads = 0;
    answering(line, (read) => {
      reads += 1;
      const { job_id, result } = handleOf(read);
      // The handle of start_job, which has no result, may already say `completed`.
      return typeof result === 'string'
        ? replyText('I have it.')
        : toolCallReply([call('job_result', { job_id }, `call_${reads}`)]);
    });
    const { jobId } = await chat(line);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'I have it.' });
    expect(handleOf(resultsOf(line).at(-1))).toMatchObject({ status: 'completed', result: 'Forty-two.', error: null });
  });

  it('allows get_jobs and job_result in later turns of the thread, and in no other thread', async () => {
    const [line, later, task] = [fresh('ask'), fresh('later'), fresh('task')];
    stage.script(line, starting(task), replyText('ok'));
    stage.script(task, replyText('Done.'));
    const { jobId, threadId } = await chat(line);
    await stage.ended(jobId);
    const [child] = await stage.children(jobId, 1, 'completed');
    const both = () =>
      toolCallReply([call('get_jobs', {}, 'call_a'), call('job_result', { job_id: child?.id }, 'call_b')]);
    // The thread's first line is what the script goes by.
    stage.script(line, both(), replyText('seen'));
    await stage.ended((await chat(later, jobTools, threadId)).jobId);
    const [list, result] = resultsOf(line).slice(-2);
    expect(handleOf(list)).toEqual({ jobs: [expect.objectContaining({ job_id: child?.id, status: 'completed' })] });
    expect(handleOf(result)).toMatchObject({ result: 'Done.' });
    const elsewhere = fresh('elsewhere');
    stage.script(elsewhere, both(), replyText('nothing'));
    await stage.ended((await chat(elsewhere)).jobId);
    expect(resultsOf(elsewhere)).toEqual([
      '{"jobs":[]}',
      `Error executing tool "job_result": Job "${child?.id ?? ''}" is not available.`,
    ]);
  });

  it('returns the same error for an unknown and a forbidden model, and starts nothing in another workspace', async () => {
    const line = fresh('ask');
    const other = '00000000-0000-7000-8000-000000000000';
    stage.script(
      line,
      toolCallReply([
        call('start_job', wanted('x', { model: 'secret/model' }), 'call_a'),
        call('start_job', wanted('x', { workspace: other }), 'call_b'),
        call('start_job', wanted('x'.repeat(20_001)), 'call_c'),
      ]),
      replyText('no'),
    );
    const { jobId } = await chat(line);
    await stage.ended(jobId);
    const [model, workspace, prompt] = resultsOf(line);
    expect(model).toBe('Error executing tool "start_job": Model "secret/model" is not available.');
    expect(workspace).toContain('start_job');
    expect(workspace).toContain('workspace');
    expect(prompt).toContain('prompt');
    expect(await stage.children(jobId, 0)).toEqual([]);
  });

  it('starts a job with a model that the workspace allows by name', async () => {
    const [line, task] = [fresh('ask'), fresh('task')];
    const direct = (models: readonly string[]) =>
      stage.database.postgres.withWorkspaceSql(workspaceOf(), (client) =>
        client.query('UPDATE workspace SET direct_models = $1', [models]),
      );
    await direct(['small/*']);
    stage.engine.platform.bus.publish('access-changed', { workspaceId: workspaceOf() });
    stage.script(line, starting(task, { model: 'small/one' }), replyText('ok'));
    stage.script(task, replyText('Small.'));
    const { jobId } = await chat(line);
    await stage.ended(jobId);
    await stage.children(jobId, 1, 'completed');
    expect(stage.requests(task)[0]?.json['model']).toBe('small/one');
    await direct([]);
    stage.engine.platform.bus.publish('access-changed', { workspaceId: workspaceOf() });
  });

  it('passes on no tool that the chat lacks or its requester may not call', async () => {
    const [line, task] = [fresh('ask'), fresh('task')];
    await stage.policy({ rules: [{ match: 'send', action: 'block' }] });
    stage.script(line, starting(task), replyText('ok'));
    stage.script(task, replyText('fine'));
    const { jobId } = await chat(line, ['start_job', 'send', 'look_up']);
    await stage.ended(jobId);
    const [child] = await stage.children(jobId, 1, 'completed');
    expect(handleOf(resultsOf(line)[0])).toMatchObject({ job_id: child?.id, tools: ['start_job', 'look_up'] });
    await stage.policy({});
  });

  it('passes on the approval rules of its agent', async () => {
    const [line, task] = [fresh('ask'), fresh('task')];
    const { slug: ref } = await stage.engine.app.get(AgentsService).create(stage.people.owner, {
      ...{ name: fresh('Clerk'), tools: ['start_job', 'send'] },
      toolApproval: parseApprovalPolicy({ rules: [{ match: 'send', action: 'require_approval' }] }),
    });
    stage.script(line, starting(task), replyText('ok'));
    stage.script(task, toolCallReply([call('send', { to: 'ada' })]));
    const { jobId } = await stage.engine.app.get(ChatService).start(stage.people.member, {
      ...{ threadRef: null, createThread: true, messageClientId: null, model: null, history: 'thread' },
      ...{ toolRuntimes: {}, toolChoice: null, parameters: {}, whenBusy: null, backgroundMode: undefined },
      ...{ idempotency: null, providerKey: null, tools: [], agent: { type: 'agent', ref } },
      messages: [{ role: 'user', content: line }],
    });
    await stage.ended(jobId);
    const [child] = await stage.children(jobId, 1, 'waiting');
    const [asked] = await stage.waits(child?.id ?? '');
    expect(asked).toMatchObject({ kind: 'tool_approval', tool: 'send', rootJobId: jobId });
    await stage.stop(child?.id ?? '');
  });

  it('limits the number of started jobs and their depth', async () => {
    const [line, first, second] = [fresh('ask'), fresh('first'), fresh('second')];
    const others = [fresh('other'), fresh('other')];
    const starts = [first, ...others].map((prompt) => call('start_job', wanted(prompt), `call_${prompt}`));
    stage.script(line, toolCallReply(starts), starting('one too many'), replyText('ok'));
    for (const other of others) stage.script(other, replyText('fine'));
    stage.script(first, starting(second), replyText('one further'));
    stage.script(second, starting('no further'), replyText('the last'));
    const { jobId } = await chat(line);
    await stage.ended(jobId);
    const children = await stage.children(jobId, 3, 'completed');
    expect(resultsOf(line).at(-1)).toBe(
      'Error executing tool "start_job": A job can start at most 3 jobs; this job has reached the limit',
    );
    const deep = await stage.rows<{ id: string; parent: string }>(
      'SELECT id, parent_job_id AS parent FROM job WHERE root_job_id = $1 AND depth > 1',
      [jobId],
    );
    expect(children.map(({ id }) => id)).toEqual(expect.arrayContaining(deep.map(({ parent }) => parent)));
    expect(deep).toHaveLength(1);
    await stage.ended(deep[0]?.id ?? '');
    expect(handleOf(resultsOf(first)[0])).toMatchObject({ depth: 2, tools: ['get_jobs', 'job_result'] });
    expect(resultsOf(second)).toEqual(['Tool "start_job" is not registered on server.']);
  });

  /** Returns the ids of a chat and of the unfinished job it started. */
  const hanging = async (...then: readonly Reply[]) => {
    const [line, task] = [fresh('ask'), fresh('task')];
    stage.script(line, starting(task), ...then);
    stage.script(task, { body: [createGate()] });
    const { jobId } = await chat(line);
    await eventually('it is asked', () => stage.requests(task)[0]);
    const [child] = await stage.children(jobId, 1, 'running');
    return { jobId, line, childId: child?.id ?? '' };
  };

  it('cancels the started jobs with the chat, also after it has ended', async () => {
    const { jobId, childId } = await hanging(replyText('ok'));
    await stage.ended(jobId);
    const stopped = await stage.engine.app.get(JobStopper).stopTree(scopeOf(stage.people.member), jobId);
    expect(stopped).toEqual({ state: 'already_terminal', stoppedSubJobs: 1 });
    expect(await stage.ended(childId)).toMatchObject({ status: 'cancelled' });
    expect(await stage.line(childId)).toMatchObject({ reason: 'parent_stopped' });
  });

  it('cancels the chat and its started jobs although the process that cancelled it was lost', async () => {
    const { jobId, line, childId } = await hanging({ body: [createGate()] });
    await eventually('it continues', () => stage.requests(line)[1]);
    await stage.sweep();
    expect(await stage.line(childId)).toMatchObject({ status: 'running' });
    await stage.rows(
      `UPDATE job SET status = 'cancelled', reason = 'cancelled', finished_at = clock_timestamp(), lease_epoch = lease_epoch + 1,
              lease_owner = NULL, lease_until = NULL WHERE id = $1`,
      [jobId],
    );
    await stage.sweep();
    expect(await stage.ended(childId)).toMatchObject({ status: 'cancelled' });
  });

  it('limits a started job to ten rounds', async () => {
    const [line, task] = [fresh('ask'), fresh('task')];
    stage.script(line, starting(task), replyText('ok'));
    const looks = Array.from({ length: 9 }, (_, n) => toolCallReply([call('look_up', { to: `${n}` }, `call_${n}`)]));
    stage.script(task, ...looks, replyText('That is all.'));
    const { jobId } = await chat(line, ['start_job', 'look_up']);
    await stage.ended(jobId);
    await stage.children(jobId, 1, 'completed');
    expect(stage.requests(task).map(({ json }) => json['tools'] !== undefined)).toEqual([
      ...looks.map(() => true),
      false,
    ]);
  });
});

describe('a server without FEATURE_SUB_JOBS', () => {
  it('offers no tools for sub-jobs', async () => {
    const stage = await openSubJobStage();
    for (const name of jobTools) {
      await expect(stage.ask([name])).rejects.toMatchObject({ code: 'bad_request', field: 'tools' });
    }
    await stage.close();
  });
});
