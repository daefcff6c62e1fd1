import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';

import { newId } from '#platform';

import { nextClauses } from '../../libs/jobs/src/capacity/capacity-statement.js';
import type { JobOutcome } from '../../libs/jobs/src/run/job-handler.js';
import type { JobRun } from '../../libs/jobs/src/run/job-run.js';
import { LeaseRepository } from '../../libs/jobs/src/run/lease.repository.js';
import { Worker } from '../../libs/jobs/src/run/worker.js';
import { JobStarter } from '../../libs/jobs/src/start/job-starter.js';
import { startTestApi, type TestApi } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { openTestJobs, type TestJobs } from '../harness/jobs.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { createGate, type Gate, textChunk, textReply, toolCallReply } from '../harness/scripted-reply.js';

describe('maxRunningJobs of an agent', () => {
  let database: TestDatabase;
  let model: ScriptedModel;
  let test: TestApi;

  beforeAll(async () => {
    [database, model] = [await createTestDatabase(), await ScriptedModel.start()];
    test = await startTestApi(database, { takesJobs: true, env: { MODEL_BASE_URL: model.url } });
  });
  afterAll(async () => {
    await test.close();
    await model.close();
    await database.close();
  });

  const createAgent = `mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } userErrors { message } } }`;
  const gated = (gate: Gate) => ({ body: [textChunk('Do'), gate, ...textReply(['ne.']).body] });
  const openWithAgents = async () => {
    const { owner } = await test.people.workspaceOf(`w-${newId()}`);
    for (const input of [
      { name: 'Clerk', maxRunningJobs: 2, description: 'Files things.' },
      { name: 'Cook', description: 'Cooks.' },
    ])
      await test.call('POST', '/graphql', { key: owner.key, body: { query: createAgent, variables: { input } } });
    const start = async (agent: string) => {
      const messages = [{ role: 'user', content: 'hi' }];
      const body = { _threadId: newId(), _messageId: newId(), messages, agent };
      return test.call('POST', '/api/jobs', { key: owner.key, body });
    };
    const jobs = (agent: string) =>
      database.postgres.withWorkspaceSql(owner.principal.workspaceId, async (client) => {
        const sql = `SELECT j.status, count(*)::int AS jobs FROM job j JOIN agent a ON a.workspace_id = j.workspace_id AND a.id = j.agent_id
          WHERE a.slug = $1 GROUP BY 1`;
        const { rows } = await client.query<{ status: string; jobs: number }>(sql, [agent]);
        return Object.fromEntries(rows.map(({ status, jobs: count }) => [status, count]));
      });
    const eventsOf = (type: string) =>
      database.postgres.withWorkspaceSql(owner.principal.workspaceId, async (client) => {
        const { rows } = await client.query<{ body: object }>('SELECT body FROM job_event WHERE type = $1', [type]);
        return rows.map(({ body }) => body);
      });
    return { owner, start, jobs, eventsOf };
  };

  it('queues the rest of 8 parallel starts, and delays no job of another agent', async () => {
    const { start, jobs } = await openWithAgents();
    const gate = createGate();
    model.enqueue(...Array.from({ length: 8 }, () => gated(gate)), textReply(['Soup.']));
    const replies = await Promise.all(Array.from({ length: 8 }, () => start('clerk')));
    expect(replies.every(({ status }) => status === 202)).toBe(true);
    await eventually('2 jobs run', async () => ((await jobs('clerk'))['running'] === 2 ? true : undefined));
    await start('cook');
    await eventually('a third job runs', async () => ((await jobs('cook'))['running'] === 1 ? true : undefined));
    expect(await jobs('clerk')).toEqual({ running: 2, queued: 6 });
    gate.open();
    await eventually('all complete', async () => ((await jobs('clerk'))['completed'] === 8 ? true : undefined));
  });

  it('refuses the rest of 8 parallel starts with whenFull `reject`, and names the limit', async () => {
    const { owner, start, jobs } = await openWithAgents();
    const { workspaceId } = owner.principal;
    await database.postgres.withWorkspaceSql(workspaceId, (client) =>
      client.query(`UPDATE workspace SET when_full = 'reject' WHERE id = $1`, [workspaceId]),
    );
    const gate = createGate();
    model.enqueue(...Array.from({ length: 2 }, () => gated(gate)));
    const replies = await Promise.all(Array.from({ length: 8 }, () => start('clerk')));
    expect(replies.map(({ status }) => status).sort()).toEqual([202, 202, 503, 503, 503, 503, 503, 503]);
    expect(replies.find(({ status }) => status === 503)?.body).toMatchObject({
      ...{ code: 'job_limit_reached', limit: 'maxRunningJobs', limitValue: 2, raisedBy: 'workspace_admin' },
    });
    gate.open();
    await eventually('both complete', async () => ((await jobs('clerk'))['completed'] === 2 ? true : undefined));
  });

  it('queues a job again when `auto` has chosen the agent, and asks the router once', async () => {
    const { start, jobs, eventsOf } = await openWithAgents();
    const choice = JSON.stringify({ route_id: 'clerk', reasoning: 'It fits.' });
    model.enqueue(toolCallReply([{ id: 'r', name: 'select_route', arguments: choice }]), textReply(['Filed.']));
    await start('auto');
    await eventually('the job completes', async () => ((await jobs('clerk'))['completed'] === 1 ? true : undefined));
    expect(await eventsOf('agent-selected')).toHaveLength(1);
    expect(await eventsOf('job-requeued')).toEqual([{ reason: 'agent chosen' }]);
  });
});

describe('the cap of an agent', () => {
  const done: JobOutcome = { status: 'completed', reason: 'stop' };

  /** A node of a query plan, as `EXPLAIN` shows it. */
  interface PlanNode {
    readonly 'Relation Name'?: string;
    readonly 'Actual Rows': number;
    readonly 'Actual Loops': number;
    readonly 'Rows Removed by Filter'?: number;
    readonly Plans?: readonly PlanNode[];
  }

  /** How many rows of jobs a plan has read. */
  function readOf(node: PlanNode): number {
    const { Plans = [], 'Actual Rows': rows, 'Rows Removed by Filter': removed = 0, 'Actual Loops': loops } = node;
    const own = node['Relation Name'] === 'job' ? (rows + removed) * loops : 0;
    return Plans.reduce((sum, child) => sum + readOf(child), own);
  }

  let database: TestDatabase;
  const processes: TestJobs[] = [];

  beforeAll(async () => {
    database = await createTestDatabase({ poolSize: 20 });
  });
  afterEach(async () => {
    for (const { app } of processes) await app.get(Worker).stop(0);
    for (const process of processes.splice(0)) await process.close();
  });
  afterAll(async () => {
    await database.close();
  });

  const processAt = (i: number): TestJobs => {
    const process = processes[i % processes.length];
    if (process === undefined) throw new Error('open a process first');
    return process;
  };
  /** Processes that accept jobs and, unless `idle`, work; hints between them go through Postgres. */
  const open = async (count: number, run: (run: JobRun) => Promise<JobOutcome>, { idle = false } = {}) => {
    for (let i = 0; i < count; i++) {
      const process = await openTestJobs(database, { LEASE_MS: '600000', BUS: 'postgres' });
      process.handle(run);
      processes.push(process);
      if (!idle) process.app.get(Worker).start();
    }
    return processAt(0);
  };
  const workspace = async (whenFull: 'queue' | 'reject' = 'queue', maxJobs = 20): Promise<string> => {
    const workspaceId = newId();
    const sql = 'INSERT INTO workspace (id, name, max_jobs, max_jobs_per_user, when_full) VALUES ($1, $2, $3, $3, $4)';
    await database.postgres.withWorkspaceSql(workspaceId, (client) =>
      client.query(sql, [workspaceId, 'Test', maxJobs, whenFull]),
    );
    return workspaceId;
  };
  const agent = async (workspaceId: string, maxRunningJobs: number | null): Promise<string> => {
    const agentId = newId();
    const sql = `INSERT INTO agent (workspace_id, id, name, slug, description, created_by, max_running_jobs)
      VALUES ($1, $2::uuid, $2::text, $2::text, '', 'system', $3)`;
    await database.postgres.withWorkspaceSql(workspaceId, (client) =>
      client.query(sql, [workspaceId, agentId, maxRunningJobs]),
    );
    return agentId;
  };
  /** Starts jobs in all processes at once. */
  const start = (of: { workspaceId: string; agentId?: string; createdBy: string }, count: number) =>
    Promise.allSettled(
      Array.from({ length: count }, (_, i) => {
        const thread = { ref: newId(), isNew: true, createTitle: 'T' };
        return processAt(i)
          .app.get(JobStarter)
          .start(processAt(i).request({ ...of, thread }));
      }),
    );
  const runningOf = async (workspaceId: string): Promise<ReadonlyMap<string | null, number>> => {
    const sql = `SELECT agent_id AS agent, count(*)::int AS jobs FROM job WHERE workspace_id = $1 AND status = 'running' GROUP BY 1`;
    const rows = await processAt(0).rows<{ agent: string | null; jobs: number }>(sql, [workspaceId]);
    return new Map(rows.map(({ agent: agentId, jobs }) => [agentId, jobs]));
  };
  const allEnded = (workspaceId: string, count: number) =>
    eventually(`${count} jobs have completed`, async () => {
      const sql = `SELECT count(*)::int AS jobs FROM job WHERE workspace_id = $1 AND status = 'completed'`;
      const [row] = await processAt(0).rows<{ jobs: number }>(sql, [workspaceId]);
      return row?.jobs === count ? true : undefined;
    });

  it('limits the running jobs of three users across three processes, and lets all jobs complete', async () => {
    const workspaceId = await workspace();
    const [capped, free] = [await agent(workspaceId, 2), await agent(workspaceId, null)];
    let [most, mostOfFree] = [0, 0];
    await open(3, async () => {
      const counts = await runningOf(workspaceId);
      most = Math.max(most, counts.get(capped) ?? 0);
      mostOfFree = Math.max(mostOfFree, counts.get(free) ?? 0);
      return done;
    });
    const users = [newId(), newId(), newId()];
    const starts = users.flatMap((createdBy) =>
      [capped, free].map((agentId) => start({ workspaceId, agentId, createdBy }, 20)),
    );
    await Promise.all(starts);
    await allEnded(workspaceId, 120);
    expect(most).toBe(2);
    expect(mostOfFree).toBeGreaterThan(2);
  });

  it('queues the starts over it: of 8 parallel starts 2 run', async () => {
    const workspaceId = await workspace();
    const agentId = await agent(workspaceId, 2);
    const gate = Promise.withResolvers<JobOutcome>();
    await open(2, () => gate.promise);
    await start({ workspaceId, agentId, createdBy: newId() }, 8);
    await eventually('two jobs run', async () =>
      (await runningOf(workspaceId)).get(agentId) === 2 ? true : undefined,
    );
    for (let i = 0; i < 2; i++) await processAt(i).app.get(Worker).sweep();
    expect((await runningOf(workspaceId)).get(agentId)).toBe(2);
    gate.resolve(done);
    await allEnded(workspaceId, 8);
  });

  it('refuses the starts over it with whenFull `reject`: of 8 parallel starts exactly 2 jobs are stored', async () => {
    const workspaceId = await workspace('reject');
    const [capped, other] = [await agent(workspaceId, 2), await agent(workspaceId, null)];
    const gate = Promise.withResolvers<JobOutcome>();
    await open(2, () => gate.promise);
    const createdBy = newId();
    const results = await start({ workspaceId, agentId: capped, createdBy }, 8);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
    const refusal = results.find((result) => result.status === 'rejected');
    expect(refusal?.reason).toMatchObject({
      code: 'job_limit_reached',
      message:
        'Server busy, try again later: this agent runs at most 2 jobs at once (maxRunningJobs). ' +
        'An owner or admin of the workspace can raise it.',
      details: { limit: 'maxRunningJobs', limitValue: 2, raisedBy: 'workspace_admin' },
    });
    const others = await start({ workspaceId, agentId: other, createdBy }, 4);
    expect(others.every(({ status }) => status === 'fulfilled')).toBe(true);
    gate.resolve(done);
    await allEnded(workspaceId, 6);
  });

  it('delays no job of another agent while jobs of an agent at its cap are queued', async () => {
    const workspaceId = await workspace('queue', 3);
    const [full, other] = [await agent(workspaceId, 1), await agent(workspaceId, null)];
    const [gate, gates] = [Promise.withResolvers<JobOutcome>(), [] as PromiseWithResolvers<JobOutcome>[]];
    await open(2, ({ job }) => {
      if (job.agentId === full) return gate.promise;
      const own = Promise.withResolvers<JobOutcome>();
      gates.push(own);
      return own.promise;
    });
    const createdBy = newId();
    await start({ workspaceId, agentId: full, createdBy }, 30);
    await start({ workspaceId, agentId: other, createdBy }, 3);
    await start({ workspaceId, createdBy }, 3);
    // Each end makes room, which goes past the 29 older jobs of the full agent.
    for (let ended = 0; ended < 6; ended++) {
      await eventually('the next job runs', () => (gates.length > ended ? true : undefined));
      gates[ended]?.resolve(done);
    }
    await allEnded(workspaceId, 6);
    gate.resolve(done);
    await allEnded(workspaceId, 36);
  });

  it('leaves a slot of the agent to another user when the first user has reached their cap', async () => {
    const workspaceId = await workspace('queue', 3);
    await database.postgres.withWorkspaceSql(workspaceId, (client) =>
      client.query('UPDATE workspace SET max_jobs_per_user = 1 WHERE id = $1', [workspaceId]),
    );
    const agentId = await agent(workspaceId, 2);
    const gate = Promise.withResolvers<JobOutcome>();
    await open(1, () => gate.promise);
    await start({ workspaceId, agentId, createdBy: newId() }, 5);
    await start({ workspaceId, agentId, createdBy: newId() }, 1);
    await eventually('jobs of both run', async () =>
      (await runningOf(workspaceId)).get(agentId) === 2 ? true : undefined,
    );
    gate.resolve(done);
    await allEnded(workspaceId, 6);
  });

  it('counts a job that chooses its agent while it runs only from its next claim on', async () => {
    const workspaceId = await workspace();
    const agentId = await agent(workspaceId, 1);
    const claims: (string | null)[] = [];
    let most = 0;
    await open(2, async ({ job }) => {
      claims.push(job.agentId);
      if (job.agentId === null) return { status: 'released', agentId };
      most = Math.max(most, (await runningOf(workspaceId)).get(agentId) ?? 0);
      return done;
    });
    await start({ workspaceId, createdBy: newId() }, 6);
    await allEnded(workspaceId, 6);
    expect(claims.filter((id) => id === null)).toHaveLength(6);
    expect(most).toBe(1);
  });

  it('lets an index alone find jobs of another agent behind 10,000 queued jobs of an agent at its cap', async () => {
    const workspaceId = await workspace();
    const [full, other] = [await agent(workspaceId, 1), await agent(workspaceId, null)];
    const process = await open(1, () => Promise.resolve(done), { idle: true });
    const user = newId();
    await database.postgres.withWorkspaceSql(workspaceId, (client) =>
      client.query(
        `INSERT INTO job (workspace_id, id, kind, principal, created_by, agent_id, model, input, status, lease_until, created_at)
         SELECT $1, gen_random_uuid(), 'chat', 'user:' || $2::text, $2::uuid, CASE WHEN i < 10000 THEN $3 ELSE $4 END::uuid, '', '{}',
                CASE i WHEN 0 THEN 'running' ELSE 'queued' END, CASE i WHEN 0 THEN clock_timestamp() + interval '1 hour' END,
                clock_timestamp() - interval '1 hour' + i * interval '1 ms' FROM generate_series(0, 10002) AS i`,
        [workspaceId, user, full, other],
      ),
    );
    const owner = new pg.Client({ connectionString: database.urls.owner });
    await owner.connect();
    await owner.query('ANALYZE job, agent, workspace');
    await owner.end();
    const runnable = await process.app.get(LeaseRepository).findRunnable(50, 0);
    expect(runnable).toHaveLength(3);
    const ceilings = { workspace: '20', user: '20' };
    const workspaces = `SELECT '${workspaceId}'::uuid AS workspace_id`;
    const next = `${nextClauses({ workspaces, minAgeMs: '0', format: '9', ceilings })} SELECT * FROM next JOIN room USING (workspace_id, id)`;
    const [row] = await process.rows<{ 'QUERY PLAN': readonly [{ Plan: PlanNode }] }>(
      `EXPLAIN (ANALYZE, FORMAT JSON) ${next}`,
    );
    expect(row === undefined ? Infinity : readOf(row['QUERY PLAN'][0].Plan)).toBeLessThan(100);
  });
});
