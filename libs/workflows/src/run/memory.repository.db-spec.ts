import { afterAll, beforeAll, expect, it } from '@jest/globals';

import { Retention } from '#jobs';
import { firstIdAt } from '#platform';

import { openWorkflowStage, type WorkflowStage } from '../../../../test/harness/workflow-stage.js';

let stage: WorkflowStage;

beforeAll(async () => {
  stage = await openWorkflowStage({ MEMORY_RETENTION_MS: '60000', MEMORIES_PER_SESSION: '3' });
});
afterAll(async () => {
  await stage.close();
});

it('MemoryRepository deletes old memories, and all but the newest of a session', async () => {
  const { workspaceId } = stage.people.owner;
  const remember = (session: string, ageMs: number, count: number) =>
    stage.engine.platform.postgres.workerPool.query(
      `INSERT INTO workflow_memory (workspace_id, id, session_id, text, node_run_key)
       SELECT $1, (left($2::text, 24) || lpad(to_hex(n), 12, '0'))::uuid, $3, $3 || n, $3 || n FROM generate_series(1, $4::int) AS n`,
      [workspaceId, firstIdAt(Date.now() - ageMs), session, count],
    );
  await remember('old', 120_000, 2);
  await remember('full', 30_000, 5);
  await remember('small', 20_000, 2);
  await stage.engine.app.get(Retention).pass();
  expect(await stage.rows('SELECT text FROM workflow_memory ORDER BY id')).toEqual(
    ['full3', 'full4', 'full5', 'small1', 'small2'].map((text) => ({ text })),
  );
});
