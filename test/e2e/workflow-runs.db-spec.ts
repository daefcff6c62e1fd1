import { createHash, randomUUID } from 'node:crypto';
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';

import { type DatabaseUrls, migrate } from '#platform';
import { SchedulesService, ScheduleTimers } from '#schedules';

import { createEmptyDatabase, dropTestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';
import { agent, openWorkflowStage, type WorkflowStage } from '../harness/workflow-stage.js';

let stage: WorkflowStage;

beforeAll(async () => {
  // Only the test of a long session reaches this limit.
  stage = await openWorkflowStage({ MODEL_CONTEXT_TOKENS: '12000' });
});
afterEach(() => {
  stage.assertPlayed();
});
afterAll(async () => {
  await stage.close();
});

describe('workflow job', () => {
  it('runs its nodes one after the other, and ends with the output of the last', async () => {
    const jobId = await stage.run({ out: { type: 'output', format: 'text', introText: 'Result:' } }, ['start -> out']);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', error: null });
    expect(await stage.runsOf(jobId)).toEqual([
      { node: 'start', status: 'completed', output: 'Hello' },
      { node: 'out', status: 'completed', output: 'Result:\n\nHello' },
    ]);
    expect((await stage.eventsOf(jobId)).map(({ type }) => type)).toEqual([
      ...['job-queued', 'job-started', 'node-started', 'node-finished', 'node-started', 'node-finished'],
      ...['text-delta', 'job-finished'],
    ]);
  });

  it('sends earlier outputs and tools to its agents', async () => {
    const sum = { id: 'c', name: 'calculate', arguments: '{"expression":"6*7"}' };
    stage.script('You write.', textReply(['Draft.']));
    stage.script('You edit.', toolCallReply([sum]), textReply(['It is 42.']));
    const jobId = await stage.run(
      {
        writer: agent('You write.'),
        editor: agent('You edit.', { tools: ['calculate'] }),
      },
      ['start -> writer', 'writer -> editor'],
    );
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', error: null });
    expect(stage.asked('You write.')).toEqual([
      [
        { role: 'system', content: expect.stringMatching(/^You write\./) },
        { role: 'user', content: 'Hello' },
      ],
    ]);
    expect((await stage.runsOf(jobId)).map(({ output }) => output)).toEqual(['Hello', 'Draft.', 'It is 42.']);
    const calls = await stage.rows('SELECT name, status, result FROM tool_call WHERE job_id = $1', [jobId]);
    expect(calls).toEqual([{ name: 'calculate', status: 'completed', result: '42' }]);
  });
});

describe('session longer than the context of the model', () => {
  it('drops its oldest messages and warns viewers', async () => {
    const history = Array.from({ length: 8 }, (_, i) => ({
      role: i % 2 === 0 ? ('user' as const) : ('assistant' as const),
      content: `${i} `.padEnd(2_000, 'x'),
    }));
    stage.script('Continue.', textReply(['Done.']));
    const jobId = await stage.run({ a: agent('Continue.') }, ['start -> a'], { history });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Done.' });
    const contents = stage.asked('Continue.')[0]?.map(({ content }) => (content as string).slice(0, 6));
    // It reads 2,000 tokens, of which a message of the history has 500; the five newest are sent in any case.
    expect(contents).toEqual(['Contin', '4 xxxx', '5 xxxx', '6 xxxx', '7 xxxx', 'Hello']);
    expect(await stage.eventsOf(jobId, 'warning')).toEqual([
      expect.objectContaining({ body: expect.objectContaining({ code: 'SESSION_COMPACTED', nodeId: 'a' }) }),
    ]);
  });
});

describe('scheduled workflow', () => {
  let timers: ScheduleTimers;

  beforeAll(async () => {
    timers = stage.engine.app.get(ScheduleTimers);
    await timers.start();
  });
  afterAll(async () => {
    await timers.stop();
  });

  const out = { type: 'output', format: 'text', template: 'Out: {{input}}' };

  /** A schedule of the workflow that comes right now. Gives the job it starts. */
  async function comes(workflowRef: string): Promise<string> {
    const terms = {
      cron: '* * * * *',
      timeZone: 'Europe/Berlin',
      missed: 'once',
      prompt: 'Hello',
      enabled: true,
    } as const;
    const schedules = stage.engine.app.get(SchedulesService);
    const { owner } = stage.people;
    const { id } = await schedules.save(owner, { id: null, workflowRef, ...terms });
    const back = `UPDATE workflow_schedule SET next_slot_at = next_slot_at - interval '1 minute' WHERE id = $1`;
    await stage.database.postgres.withWorkspaceSql(owner.workspaceId, (client) => client.query(back, [id]));
    await timers.sweep();
    const jobId = await eventually('the schedule has started a job', async () => {
      const [slot] = await schedules.slots(owner, id, 1);
      return slot?.jobId ?? undefined;
    });
    await schedules.remove(owner, id);
    return jobId;
  }

  it('runs to its end without a requester', async () => {
    const jobId = await comes(await stage.publish({ out }, ['start -> out']));
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Out: Hello' });
  });

  it('runs tools as the system principal', async () => {
    const sum = { type: 'tool', toolId: 'calculate', config: { expression: '2 + 3' } };
    const jobId = await comes(await stage.publish({ sum, out }, ['start -> sum', 'sum -> out']));
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed' });
    expect((await stage.outputsOf(jobId))['sum']).toContain('5');
  });

  it('asks only the approvers for an approval', async () => {
    const ask = { type: 'approval', prompt: 'May it?' };
    const jobId = await comes(await stage.publish({ ask, out }, ['start -> ask', 'ask.output -> out']));
    const asked = (await stage.waitsAt(jobId)).get('ask');
    expect(asked).toMatchObject({ requester: null, jobId, rootJobId: jobId });
    if (asked === undefined) throw new Error('no approval was requested');
    await expect(stage.decide(stage.people.member, asked, { action: 'approve' })).rejects.toMatchObject({
      code: 'cannot_decide',
    });
    await stage.decide(stage.people.admin, asked, { action: 'approve' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed' });
  });
});

describe('workflow tool from before slugs', () => {
  const migrations = join(import.meta.dirname, '../../prisma/migrations');
  const database = `tool_names_${process.pid}`;
  const workspaceId = randomUUID();

  let urls: DatabaseUrls;
  let client: pg.Client;
  let before: string;

  beforeAll(async () => {
    urls = await createEmptyDatabase(database);
    before = await mkdtemp(join(tmpdir(), 'before-slugs-'));
    for (const name of await readdir(migrations))
      if (name < '20261122210400') await cp(join(migrations, name), join(before, name), { recursive: true });
    await migrate(urls, { directory: before });
    client = new pg.Client({ connectionString: urls.owner });
    await client.connect();
    await client.query(`INSERT INTO workspace (id, name) VALUES ($1, 'w')`, [workspaceId]);
  });

  afterAll(async () => {
    await client.end();
    await dropTestDatabase(database);
    await rm(before, { recursive: true });
  });

  /** `name` as it is published; the draft may say something else by now. Ids grow. */
  let made = 0;
  async function add(name: string, { offered = true, draft = name, more = '' } = {}): Promise<string> {
    const id = `01900000-0000-7000-8000-${String((made += 1)).padStart(12, '0')}`;
    await client.query(
      `INSERT INTO workflow (workspace_id, id, name, draft, draft_hash, published_version, latest_version, offered_as_tool, created_by)
       VALUES ($1, $2, $3, '{}', 'h', 1, 1, $4, 'user:u')`,
      [workspaceId, id, draft, offered],
    );
    await client.query(
      `INSERT INTO workflow_version (workspace_id, workflow_id, number, definition, hash, created_by)
       VALUES ($1, $2, 1, $3, 'h', 'user:u')`,
      [workspaceId, id, `{"meta": {"name": ${JSON.stringify(name)}}${more}}`],
    );
    return id;
  }

  const markOf = (id: string) => createHash('sha256').update(id).digest('hex').slice(0, 8);

  it('keeps its name, which no other workflow gets', async () => {
    const plain = await add('Weekly Report');
    const named = await add('My_Flow');
    const alike = await add('my flow!', { draft: 'my flow!' });
    const nameless = await add('報告');
    const long = await add(`${'long '.repeat(20)}x`);
    const longer = await add(`${'long '.repeat(20)}y`);
    const renamed = await add('As it is published', { draft: 'As it is drafted' });
    const strange = await add('Strange', { draft: 'Strange', more: String.raw`, "x": "\u0000"` });
    const underlined = await add('A_B');
    const withheld = await add('a b', { offered: false });
    await migrate(urls);
    const { rows } = await client.query<{ id: string; slug: string; tool_slug: string | null }>(
      'SELECT id, slug, tool_slug FROM workflow ORDER BY id',
    );
    const toolSlugs = new Map(rows.map(({ id, slug, tool_slug: toolSlug }) => [id, toolSlug ?? slug]));
    const longest = 'long-'.repeat(20);
    expect(Object.fromEntries(toolSlugs)).toEqual({
      [plain]: 'weekly-report',
      [named]: 'my-flow',
      [alike]: `my-flow-${markOf(alike)}`,
      [nameless]: markOf(nameless),
      [long]: longest.slice(0, 55),
      [longer]: `${longest.slice(0, 46)}-${markOf(longer)}`,
      [renamed]: 'as-it-is-published',
      [strange]: 'strange',
      [underlined]: 'a-b',
      [withheld]: `workflow-${withheld}`,
    });
    expect(rows.find(({ id }) => id === named)?.slug).toBe('my_flow');
    expect(rows.find(({ id }) => id === plain)?.tool_slug).toBeNull();
  });
});
