import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';

import { parseApprovalPolicy } from '#approvals';
import { scopeOf } from '#auth';
import { AgentsService } from '#chat';
import { type InterruptFilter, InterruptsRepository } from '#jobs';
import { newId, type Scope } from '#platform';
import { WorkflowsService } from '#workflows';

import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { openTestJobs, type TestJobs } from '../harness/jobs.js';
import { errorReply, textReply, toolCallReply } from '../harness/scripted-reply.js';
import { openSubJobStage, type SubJobStage } from '../harness/sub-jobs.js';
import { agent } from '../harness/workflow-stage.js';
import { startWorkflow } from '../harness/workflows.js';

let stage: SubJobStage;
let names = 0;

beforeAll(async () => {
  stage = await openSubJobStage({ env: { WORKER_SLOTS: '1' } });
});

afterEach(() => {
  stage.assertPlayed();
});

afterAll(async () => {
  await stage.close();
});

const replyText = (text: string) => textReply([text]);
const call = (name: string, args: object = { input: 'Hello' }, id = `call_${name}`) => ({
  id,
  name,
  arguments: JSON.stringify(args),
});
const calling = (name: string, args?: object) => toolCallReply([call(name, args)]);
/** A chat about `line` that may call these. */
const chat = async (line: string, ...tools: readonly string[]) => {
  const { jobId } = await stage.ask(tools, { messages: [{ role: 'user', content: line }] });
  return jobId;
};
const toolText = (line: string) => stage.asked(line).at(-1)?.at(-1)?.content;
const startOffered = async (id: string) => {
  const { app } = stage.engine;
  const { member } = stage.people;
  const workflow = await app.get(WorkflowsService).get(member, id);
  return startWorkflow(stage.engine, member, { workflow, prompt: 'Hello' });
};
const fresh = (word: string) => `${word}-${(names += 1)}`;

describe('workflow called by a chat', () => {
  it('runs as its own job while the chat waits without a slot, and returns its output as the result', async () => {
    const [name, line, prompt] = [fresh('shout'), fresh('ask'), fresh('louder')];
    await stage.offer(name, { a: agent(prompt) }, ['start -> a']);
    stage.script(line, calling(`workflow.${name}`, { input: 'hi there' }), replyText('So be it.'));
    stage.script(prompt, replyText('HI THERE'));
    const jobId = await chat(line, `workflow.${name}`);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'So be it.' });
    expect(toolText(line)).toBe('HI THERE');
    expect(JSON.stringify(stage.asked(prompt))).toContain('hi there');
    const [child] = await stage.children(jobId, 1);
    expect(child).toMatchObject({ status: 'completed', depth: 1, parent: jobId, root: jobId });
    const [row] = await stage.rows(
      `SELECT c.status, c.executor, c.effect, j.parent_call_id = c.id AS linked, j.created_by = p.created_by AS own, j.thread_id
         FROM tool_call c JOIN job j ON j.parent_job_id = c.job_id JOIN job p ON p.id = c.job_id WHERE c.job_id = $1`,
      [jobId],
    );
    expect(row).toEqual({
      ...{ status: 'completed', executor: 'job', effect: 'idempotent', linked: true, own: true },
      thread_id: null,
    });
    const [queued] = await stage.eventsOf(child?.id ?? '', 'job-queued');
    expect(queued?.body).toMatchObject({ parentJobId: jobId });
    const shown = await stage.eventsOf(jobId, 'tool-progress', 'job-waiting');
    expect(shown.map(({ type }) => type).toSorted()).toEqual(['job-waiting', 'tool-progress']);
    expect(shown.find(({ type }) => type === 'tool-progress')?.body).toMatchObject({ subJobId: child?.id });
  });

  it('receives its declared inputs, the first as its prompt', async () => {
    const [name, line] = [fresh('greet'), fresh('ask')];
    const inputs = [
      { id: 'who', name: 'Whom to greet', type: 'string', required: true },
      { id: 'how', type: 'string', default: 'warmly' },
    ];
    const reader = { type: 'output', format: 'text', template: '{{input}} is greeted {{inputs.how}}' };
    await stage.offer(name, { t: reader }, ['start -> t'], { subflow: { inputs } });
    stage.script(line, calling(`workflow.${name}`, { who: 'Ada' }), replyText('ok'));
    const jobId = await chat(line, `workflow.${name}`);
    await stage.ended(jobId);
    expect(toolText(line)).toBe('Ada is greeted warmly');
  });

  it('returns an error to the model when it fails or is cancelled', async () => {
    const [name, line, prompt] = [fresh('fail'), fresh('ask'), fresh('break')];
    await stage.offer(name, { a: agent(prompt) }, ['start -> a']);
    stage.script(line, calling(`workflow.${name}`), replyText('too bad'));
    stage.script(prompt, errorReply(400));
    const jobId = await chat(line, `workflow.${name}`);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'too bad' });
    expect(toolText(line)).toMatch(`Error executing tool "workflow.${name}": its job failed: `);

    const [asks, again] = [fresh('asks'), fresh('ask')];
    await stage.offer(asks, { q: { type: 'approval', prompt: 'Really?' } }, ['start -> q']);
    stage.script(again, calling(`workflow.${asks}`), replyText('never mind'));
    const other = await chat(again, `workflow.${asks}`);
    const [child] = await stage.children(other, 1, 'waiting');
    expect(await stage.stop(child?.id ?? '')).toBe('aborted');
    expect(await stage.ended(other)).toMatchObject({ status: 'completed', content: 'never mind' });
    expect(toolText(again)).toBe(`Error executing tool "workflow.${asks}": its job was cancelled`);
  });

  it('starts once a person has approved the call', async () => {
    const [name, line] = [fresh('guarded'), fresh('ask')];
    await stage.offer(name, { t: { type: 'transform', expression: 'input' } }, ['start -> t']);
    const policy = (rules: readonly object[]) => stage.policy({ default: 'auto_approve', rules });
    await policy([{ match: `workflow.${name}`, action: 'require_approval' }]);
    stage.script(line, calling(`workflow.${name}`), replyText('done'));
    const jobId = await chat(line, `workflow.${name}`);
    const [asked] = await stage.waits(jobId);
    await stage.children(jobId, 0);
    const argumentsHash = asked?.request['argumentsHash'];
    await stage.answer(asked, { decision: 'approve', argumentsHash, arguments: { input: 'as edited' } });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed' });
    expect(JSON.stringify(stage.asked(line).at(-1))).toContain('as edited');
    await policy([]);
  });
});

describe('request of a sub-job', () => {
  it('appears in the inbox of the requester of the root, and its answer resumes all jobs', async () => {
    const [name, line, prompt] = [fresh('mails'), fresh('ask'), fresh('mail')];
    await stage.offer(name, { a: agent(prompt, { tools: ['send'] }) }, ['start -> a']);
    stage.script(line, calling(`workflow.${name}`), replyText('sent'));
    stage.script(prompt, toolCallReply([call('send', { to: 'ada' })]), replyText('mailed'));
    const toolApproval = parseApprovalPolicy({ rules: [{ match: 'send', action: 'require_approval' }] });
    const { jobId, threadId } = await stage.ask([`workflow.${name}`], {
      messages: [{ role: 'user', content: line }],
      // The request's own rules apply to its descendants too.
      toolApproval,
    });
    const [child] = await stage.children(jobId, 1, 'waiting');
    const { member } = stage.people;
    const inbox = await stage.engine.app
      .get(InterruptsRepository)
      .listInScope(scopeOf(member), { requester: member.userId, statuses: ['open'] }, { limit: 10 });
    const asked = inbox.find((one) => one.jobId === child?.id);
    expect(asked).toMatchObject({
      kind: 'tool_approval',
      rootJobId: jobId,
      threadId,
      requester: member.userId,
      tool: 'send',
    });
    const argumentsHash = asked?.request['argumentsHash'];
    await expect(stage.answer(asked, { decision: 'approve', argumentsHash, grantMinutes: 5 })).rejects.toMatchObject({
      message: 'You cannot give a time-limited approval for this call',
    });
    await stage.answer(asked, { decision: 'approve', argumentsHash });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'sent' });
    expect(stage.ran.filter(([, args]) => args['to'] === 'ada')).toHaveLength(1);
    expect(toolText(line)).toBe('mailed');
  });
});

describe('approval rules of an agent', () => {
  const careful = async (name: string, ...tools: readonly string[]) => {
    const toolApproval = { rules: [{ match: 'send', action: 'require_approval' }] };
    await stage.engine.app.get(AgentsService).create(stage.people.owner, { name, tools, toolApproval });
  };
  const offerMail = async (name: string, prompt: string) => {
    await stage.offer(name, { a: agent(prompt, { tools: ['send'] }) }, ['start -> a']);
    stage.script(prompt, toolCallReply([call('send', { to: name })]), replyText('mailed'));
  };
  /** The job requests an approval, and continues after it. */
  const approved = async (jobId: string) => {
    const [asked] = await stage.waits(jobId);
    expect(asked).toMatchObject({ kind: 'tool_approval', tool: 'send' });
    await stage.answer(asked, { decision: 'approve', argumentsHash: asked?.request['argumentsHash'] });
  };

  it('apply to the sub-job of a sub-job of its chat', async () => {
    const [inner, outer, who] = [fresh('inner'), fresh('outer'), fresh('careful')];
    const [line, pass, mail] = [fresh('ask'), fresh('pass'), fresh('mail')];
    await offerMail(inner, mail);
    await stage.offer(outer, { a: agent(pass, { tools: [`workflow.${inner}`] }) }, ['start -> a']);
    await careful(who, `workflow.${outer}`);
    stage.script(line, calling(`workflow.${outer}`), replyText('all done'));
    stage.script(pass, calling(`workflow.${inner}`), replyText('passed on'));
    const { jobId } = await stage.ask([], {
      messages: [{ role: 'user', content: line }],
      agent: { type: 'agent', ref: who },
    });
    const [middle] = await stage.children(jobId, 1, 'waiting');
    const [leaf] = await stage.children(middle?.id ?? '', 1);
    await approved(leaf?.id ?? '');
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'all done' });
  });

  it('apply to the sub-job of its node', async () => {
    const [inner, who, prompt, mail] = [fresh('inner'), fresh('careful'), fresh('node'), fresh('mail')];
    await offerMail(inner, mail);
    await careful(who, `workflow.${inner}`);
    stage.script(prompt, calling(`workflow.${inner}`), replyText('all done'));
    const jobId = await stage.run({ a: agent(prompt, { agent: who }) }, ['start -> a']);
    const [child] = await stage.children(jobId, 1);
    await approved(child?.id ?? '');
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'all done' });
  });
});

describe('workflow called by an agent node', () => {
  it("suspends the node and returns the workflow's output to it as the tool result", async () => {
    const [name, outer, inner] = [fresh('inner'), fresh('outer'), fresh('think')];
    await stage.offer(name, { a: agent(inner) }, ['start -> a']);
    stage.script(outer, calling(`workflow.${name}`), replyText('as returned'));
    stage.script(inner, replyText('forty-two'));
    const jobId = await stage.run({ a: agent(outer, { tools: [`workflow.${name}`] }) }, ['start -> a']);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'as returned' });
    expect(toolText(outer)).toBe('forty-two');
    expect(await stage.children(jobId, 1, 'completed')).toMatchObject([{ depth: 1, root: jobId }]);
  });

  it('cannot call itself', async () => {
    const [name, other, prompt, inner] = [fresh('self'), fresh('other'), fresh('me'), fresh('it')];
    const id = await stage.offer(name, { a: agent(prompt, { tools: ['*'] }) }, ['start -> a']);
    await stage.offer(other, { a: agent(inner, { tools: ['*'] }) }, ['start -> a']);
    stage.script(prompt, calling(`workflow.${other}`), replyText('done'));
    stage.script(inner, calling(`workflow.${name}`), replyText('no'));
    const jobId = await startOffered(id);
    await stage.ended(jobId);
    const offered = (line: string) => JSON.stringify(stage.requests(line)[0]?.json['tools']);
    expect(offered(prompt)).not.toContain(`"workflow.${name}"`);
    expect(offered(inner)).toContain(`"workflow.${name}"`);
    expect(toolText(inner)).toBe(
      `Error executing tool "workflow.${name}": A parent job of this call already runs this workflow. A workflow cannot run within itself.`,
    );
  });

  it('ends when its node is given up', async () => {
    const [name, outer, failing] = [fresh('slow'), fresh('outer'), fresh('failing')];
    await stage.offer(name, { q: { type: 'approval', prompt: 'Well?' } }, ['start -> q']);
    stage.script(outer, calling(`workflow.${name}`));
    stage.script(failing, errorReply(400));
    const first = { hitl: { enabled: true, mode: 'approval', prompt: 'Continue?' } };
    const nodes = {
      a: agent(outer, { tools: [`workflow.${name}`] }),
      b: agent(failing, { ...first, errorHandling: { mode: 'stop', retry: { maxRetries: 0 } } }),
    };
    const jobId = await stage.run(nodes, ['start -> a', 'start -> b']);
    await stage.children(jobId, 1, 'waiting');
    await stage.answer((await stage.waitsAt(jobId)).get('b'), { action: 'approve' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'failed' });
    expect(await stage.children(jobId, 1, 'cancelled')).toMatchObject([{ reason: 'parent_stopped' }]);
    expect(await stage.rows('SELECT status FROM tool_call WHERE job_id = $1', [jobId])).toEqual([
      { status: 'cancelled' },
    ]);
  });
});

describe('requests of a job and its descendants', () => {
  let database: TestDatabase;
  let jobs: TestJobs;
  /** A job that has asked three times, and a sub-job of it that has asked twice, among many others. */
  let root: string;
  let child: string;

  beforeAll(async () => {
    database = await createTestDatabase();
    jobs = await openTestJobs(database);
    const started = await jobs.start(400);
    [root = '', child = ''] = started.map(({ jobId }) => jobId);
    for (const { jobId } of started.slice(2)) await ask(jobId, null, 50);
    await ask(root, null, 3);
    await ask(child, root, 2);
    const owner = new pg.Client({ connectionString: database.urls.owner });
    await owner.connect();
    await owner.query('ANALYZE interrupt, job');
    await owner.end();
  });
  afterAll(async () => {
    await jobs.close();
    await database.close();
  });

  async function ask(jobId: string, rootJobId: string | null, count: number): Promise<void> {
    await jobs.rows(
      `INSERT INTO interrupt (workspace_id, id, job_id, root_job_id, kind, status, outcome, decided_at, title, request)
       SELECT $1, uuidv7(), $2, $3, 'human_input', CASE WHEN o THEN 'open' ELSE 'resolved' END, CASE WHEN NOT o THEN '{}'::jsonb END,
              CASE WHEN NOT o THEN now() END, '', '{}'
         FROM (SELECT i % 2 = 0 AS o FROM generate_series(1, $4::int) i) n`,
      [jobs.workspaceId, jobId, rootJobId, count],
    );
  }

  interface Statement {
    readonly text: string;
    readonly values: readonly unknown[];
  }

  /** What the list of a filter finds, and the plan of what it asked. */
  async function list(where: object, filter: InterruptFilter) {
    const { workspaceId, userId } = jobs;
    const whereOf: Scope['where'] = (subject) => (subject === 'Interrupt' ? { workspaceId } : where);
    const scope: Scope = { workspaceId, principal: `user:${userId}`, userId, where: whereOf };
    const query = jest.spyOn(pg.Client.prototype, 'query');
    const found = await jobs.app.get(InterruptsRepository).listInScope(scope, filter, { limit: 20 });
    const asked = query.mock.calls.map(([statement]) => statement as unknown as Statement | string);
    query.mockRestore();
    const listing = asked.find(
      (one): one is Statement => typeof one === 'object' && one.text.includes('"interrupt"."root_job_id" ='),
    );
    const plan = await database.postgres.withWorkspaceSql(workspaceId, async (sql) => {
      const { rows } = await sql.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${listing?.text ?? ''}`, [
        ...(listing?.values ?? []),
      ]);
      return rows.map((row) => row['QUERY PLAN']).join('\n');
    });
    return { jobIds: found.map(({ jobId }) => jobId), plan };
  }

  it.each<[string, () => object, InterruptFilter]>([
    ['all of them', () => ({ workspaceId: jobs.workspaceId }), {}],
    ['those that are open', () => ({ workspaceId: jobs.workspaceId }), { statuses: ['open'] }],
    ['those of one requester', () => ({ workspaceId: jobs.workspaceId, createdBy: null }), { statuses: ['open'] }],
  ])('use two indexes and read nothing else: %s', async (_, where, filter) => {
    const { jobIds, plan } = await list(where(), { ...filter, rootJobId: root });
    const count = filter.statuses === undefined ? [2, 3] : [1, 1];
    expect([child, root].map((id) => jobIds.filter((found) => found === id).length)).toEqual(count);
    expect(jobIds).toHaveLength(count.reduce((a, b) => a + b));
    expect(plan).toContain('interrupt_below_root');
    expect(plan).not.toMatch(/Seq Scan on interrupt|interrupt_pkey|interrupt_workspace_id_status_id_idx/);
  });

  it('return an empty list for an unknown job', async () => {
    expect((await list({ workspaceId: jobs.workspaceId }, { rootJobId: newId() })).jobIds).toEqual([]);
  });
});
