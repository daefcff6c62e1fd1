import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { newId } from '#platform';

import { eventually } from '../harness/eventually.js';
import { ask } from '../harness/graphql.js';
import { textReply } from '../harness/scripted-reply.js';
import { Stage } from './stage.js';

const env = { TRIGGERS_ALLOW_UNSIGNED: 'true', NODE_ENV: 'test' };
const SAVE = `mutation($definition: JSON!) {
  saveTrigger(input: { definition: $definition }) { trigger { id } userErrors { message } } }`;

describe('a webhook that starts a job', () => {
  let stage: Stage;
  let hook: string;

  beforeAll(async () => {
    stage = await Stage.open(undefined, env);
    const { url } = await stage.startApi(env);
    if (url === null) throw new Error('the api has no url');
    const definition = { triggerId: 'issues', source: 'webhook', start: { prompt: "'Triage: ' + title" } };
    const key = await stage.createKey(['read', 'write', 'admin']);
    const { data } = await ask({ url }, SAVE, { key, variables: { definition } });
    const { saveTrigger } = data as { saveTrigger: { trigger: { id: string } } };
    hook = `${url}/hooks/${saveTrigger.trigger.id}`;
    stage.model.answer(() => textReply(['Triaged.']));
  });

  afterAll(async () => {
    await stage.close();
  });

  const rowsOf = <Row extends object>(sql: string, values: readonly unknown[] = []) =>
    stage.database.postgres.withWorkspaceSql(stage.owner.workspaceId, async (client) => {
      const { rows } = await client.query<Row>(sql, [...values]);
      return rows;
    });
  const jobs = () => rowsOf<{ id: string; status: string }>(`SELECT id, status FROM job ORDER BY id`);

  it.each([
    ['before the job is written', 'before-queue-message'],
    ['after the job is written', 'after-own-start'],
    ['before the start is recorded', 'trigger-started'],
  ])('starts one job, which completes, when the worker is killed %s', async (_, point) => {
    const before = new Set((await jobs()).map(({ id }) => id));
    const victim = await stage.startWorker({ ...env, CRASH_POINT: `${point}:kill` });
    const title = newId();
    const headers = { 'content-type': 'application/json' };
    const post = () => fetch(hook, { method: 'POST', headers, body: JSON.stringify({ title }) });
    expect((await post()).status).toBe(200);
    expect((await victim.exited).signal).toBe('SIGKILL');
    expect((await post()).status).toBe(200); // its sender repeats the request
    // The sweep starts runs that are overdue: it need not wait for that here.
    const due = await rowsOf<{ id: string }>(
      `UPDATE trigger_run SET try_at = try_at - interval '1 hour' WHERE status = 'due' RETURNING id`,
    );
    expect(due).toHaveLength(1);
    const successor = await stage.startWorker(env);
    const jobId = await eventually(
      'the run is recorded as started',
      async () => {
        const sql = `SELECT job_id AS "jobId" FROM trigger_run WHERE id = $1 AND status = 'started'`;
        return (await rowsOf<{ jobId: string }>(sql, [due[0]?.id]))[0]?.jobId;
      },
      240_000,
    );
    const added = await eventually('its jobs have ended', async () => {
      const found = (await jobs()).filter(({ id }) => !before.has(id));
      return found.every(({ status }) => ['completed', 'failed', 'cancelled'].includes(status)) ? found : undefined;
    });
    expect(added).toEqual([{ id: jobId, status: 'completed' }]);
    await successor.stop();
  });
});
