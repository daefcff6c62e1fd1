import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { scopeOf } from '#auth';
import { AgentsService, ChatService } from '#chat';
import { JobStopper } from '#jobs';
import { parseApprovalPolicy } from '#tools';

import { eventually } from '../harness/eventually.js';
import { createGate, type Reply, textReply, toolCallReply } from '../harness/scripted-reply.js';
import { openSubJobStage, type SubJobStage } from '../harness/sub-jobs.js';

const jobTools = ['start_job', 'get_jobs', 'job_result'];
let names = 0;
const fresh = (word: string) => `${word}-${(names += 1)}`;
const replyText = (text: string) => textReply([text]);
const call = (name: string, args: object, id = `call_${name}`) => ({ id, name, arguments: JSON.stringify(args) });

describe('a chat that may start jobs', () => {
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
  /** What the tools have said to whoever has this line. */
  const told = (line: string) =>
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

  it('gets a handle at once, and the job goes on in a thread of its own when the chat has ended', async () => {
    const [line, task] = [fresh('ask'), fresh('task')];
    const gate = createGate();
    stage.script(line, starting(task), replyText('It is under way.'));
    stage.script(task, { body: [gate, ...replyText('Done.').body] });
    const { jobId, threadId } = await chat(line);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'It is under way.' });
    const [below] = await stage.below(jobId, 1, 'running');
    const handle = handleOf(told(line)[0]);
    expect(handle).toEqual({
      job_id: below?.id,
      thread_id: expect.any(String),
      status: expect.stringMatching(/^(queued|running)$/),
      depth: 1,
      tools: jobTools,
      parent_job_id: jobId,
    });
    expect(handle['thread_id']).not.toBe(threadId);
    await stage.sweep();
    gate.open();
    expect(await stage.ended(below?.id ?? '')).toMatchObject({ status: 'completed', content: 'Done.' });
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

  it('gets the answer from job_result, which waits for a job that runs', async () => {
    const [line, task] = [fresh('ask'), fresh('task')];
    stage.script(line, starting(task));
    stage.script(task, replyText('Forty-two.'));
    let reads = 0;
    answering(line, (read) => {
      reads += 1;
      const { job_id, status } = handleOf(read);
      const isOver = status === 'completed';
      return isOver ? replyText('I have it.') : toolCallReply([call('job_result', { job_id }, `call_${reads}`)]);
    });
    const { jobId } = await chat(line);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'I have it.' });
    expect(handleOf(told(line).at(-1))).toMatchObject({ status: 'completed', result: 'Forty-two.', error: null });
  });

  it('looks after its jobs in a later turn of its thread, and nobody else does', async () => {
    const [line, later, task] = [fresh('ask'), fresh('later'), fresh('task')];
    stage.script(line, starting(task), replyText('ok'));
    stage.script(task, replyText('Done.'));
    const { jobId, threadId } = await chat(line);
    await stage.ended(jobId);
    const [below] = await stage.below(jobId, 1, 'completed');
    const both = () =>
      toolCallReply([call('get_jobs', {}, 'call_a'), call('job_result', { job_id: below?.id }, 'call_b')]);
    // The thread's first line is what the script goes by.
    stage.script(line, both(), replyText('seen'));
    await stage.ended((await chat(later, jobTools, threadId)).jobId);
    const [list, result] = told(line).slice(-2);
    expect(handleOf(list)).toEqual({ jobs: [expect.objectContaining({ job_id: below?.id, status: 'completed' })] });
    expect(handleOf(result)).toMatchObject({ result: 'Done.' });
    const elsewhere = fresh('elsewhere');
    stage.script(elsewhere, both(), replyText('nothing'));
    await stage.ended((await chat(elsewhere)).jobId);
    expect(told(elsewhere)).toEqual([
      '{"jobs":[]}',
      `Error executing tool "job_result": Job "${below?.id ?? ''}" is not available.`,
    ]);
  });

  it('reads the same of a model that is not there and of one that is not to be had, and starts nothing elsewhere', async () => {
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
    const [model, workspace, prompt] = told(line);
    expect(model).toBe('Error executing tool "start_job": Model "secret/model" is not available.');
    expect(workspace).toContain('start_job');
    expect(workspace).toContain('workspace');
    expect(prompt).toContain('prompt');
    expect(await stage.below(jobId, 0)).toEqual([]);
  });

  it('starts a job with a model that the workspace lets be asked for by name', async () => {
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
    await stage.below(jobId, 1, 'completed');
    expect(stage.requests(task)[0]?.json['model']).toBe('small/one');
    await direct([]);
    stage.engine.platform.bus.publish('access-changed', { workspaceId: workspaceOf() });
  });

  it('hands down no tool that the chat has not, or that its requester may not call', async () => {
    const [line, task] = [fresh('ask'), fresh('task')];
    await stage.policy({ rules: [{ match: 'send', action: 'block' }] });
    stage.script(line, starting(task), replyText('ok'));
    stage.script(task, replyText('fine'));
    const { jobId } = await chat(line, ['start_job', 'send', 'look_up']);
    await stage.ended(jobId);
    const [below] = await stage.below(jobId, 1, 'completed');
    expect(handleOf(told(line)[0])).toMatchObject({ job_id: below?.id, tools: ['start_job', 'look_up'] });
    await stage.policy({});
  });

  it('hands down what its agent wants to be asked', async () => {
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
    const [below] = await stage.below(jobId, 1, 'waiting');
    const [asked] = await stage.waits(below?.id ?? '');
    expect(asked).toMatchObject({ kind: 'tool_approval', tool: 'send', rootJobId: jobId });
    await stage.stop(below?.id ?? '');
  });

  it('starts three at most, none of which starts one that starts another', async () => {
    const [line, first, second] = [fresh('ask'), fresh('first'), fresh('second')];
    const others = [fresh('other'), fresh('other')];
    const starts = [first, ...others].map((prompt) => call('start_job', wanted(prompt), `call_${prompt}`));
    stage.script(line, toolCallReply(starts), starting('one too many'), replyText('ok'));
    for (const other of others) stage.script(other, replyText('fine'));
    stage.script(first, starting(second), replyText('one further'));
    stage.script(second, starting('no further'), replyText('the last'));
    const { jobId } = await chat(line);
    await stage.ended(jobId);
    const below = await stage.below(jobId, 3, 'completed');
    expect(told(line).at(-1)).toBe('Error executing tool "start_job": A job starts 3 jobs at most, and this one has');
    const deep = await stage.rows<{ id: string; parent: string }>(
      'SELECT id, parent_job_id AS parent FROM job WHERE root_job_id = $1 AND depth > 1',
      [jobId],
    );
    expect(below.map(({ id }) => id)).toEqual(expect.arrayContaining(deep.map(({ parent }) => parent)));
    expect(deep).toHaveLength(1);
    await stage.ended(deep[0]?.id ?? '');
    expect(handleOf(told(first)[0])).toMatchObject({ depth: 2, tools: ['get_jobs', 'job_result'] });
    expect(told(second)).toEqual(['Tool "start_job" is not registered on server.']);
  });

  /** A chat that has started a job which answers no more, and said `then`; both ids. */
  const hanging = async (...then: readonly Reply[]) => {
    const [line, task] = [fresh('ask'), fresh('task')];
    stage.script(line, starting(task), ...then);
    stage.script(task, { body: [createGate()] });
    const { jobId } = await chat(line);
    await eventually('it is asked', () => stage.requests(task)[0]);
    const [below] = await stage.below(jobId, 1, 'running');
    return { jobId, line, belowId: below?.id ?? '' };
  };

  it('stops what it has started with itself, also when it has ended', async () => {
    const { jobId, belowId } = await hanging(replyText('ok'));
    await stage.ended(jobId);
    const stopped = await stage.engine.app.get(JobStopper).stopTree(scopeOf(stage.people.member), jobId);
    expect(stopped).toEqual({ state: 'already_terminal', stoppedSubJobs: 1 });
    expect(await stage.ended(belowId)).toMatchObject({ status: 'cancelled' });
    expect(await stage.line(belowId)).toMatchObject({ reason: 'parent_stopped' });
  });

  it('is stopped with all it has started although whoever stopped it was lost', async () => {
    const { jobId, line, belowId } = await hanging({ body: [createGate()] });
    await eventually('it goes on', () => stage.requests(line)[1]);
    await stage.sweep();
    expect(await stage.line(belowId)).toMatchObject({ status: 'running' });
    await stage.rows(
      `UPDATE job SET status = 'cancelled', reason = 'cancelled', finished_at = clock_timestamp(), lease_epoch = lease_epoch + 1,
              lease_owner = NULL, lease_until = NULL WHERE id = $1`,
      [jobId],
    );
    await stage.sweep();
    expect(await stage.ended(belowId)).toMatchObject({ status: 'cancelled' });
  });

  it('gives ten rounds to what it starts', async () => {
    const [line, task] = [fresh('ask'), fresh('task')];
    stage.script(line, starting(task), replyText('ok'));
    const looks = Array.from({ length: 9 }, (_, n) => toolCallReply([call('look_up', { to: `${n}` }, `call_${n}`)]));
    stage.script(task, ...looks, replyText('That is all.'));
    const { jobId } = await chat(line, ['start_job', 'look_up']);
    await stage.ended(jobId);
    await stage.below(jobId, 1, 'completed');
    expect(stage.requests(task).map(({ json }) => json['tools'] !== undefined)).toEqual([
      ...looks.map(() => true),
      false,
    ]);
  });
});

describe('where nobody has switched it on', () => {
  it('there are no tools to start jobs', async () => {
    const stage = await openSubJobStage();
    for (const name of jobTools) {
      await expect(stage.ask([name])).rejects.toMatchObject({ code: 'bad_request', field: 'tools' });
    }
    await stage.close();
  });
});
