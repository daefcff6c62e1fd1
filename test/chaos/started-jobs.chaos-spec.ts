import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { eventually } from '../harness/eventually.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';
import { Stage } from './stage.js';

const task = 'What is to be done below';

describe('calls of start_job with killed workers', () => {
  let stage: Stage;

  beforeAll(async () => {
    stage = await Stage.open(undefined, { FEATURE_SUB_JOBS: 'true' });
    const { workspaceId: workspace } = stage.owner;
    const call = {
      ...{ id: 'call_1', name: 'start_job' },
      arguments: JSON.stringify({ workspace, model: 'scripted', prompt: task }),
    };
    stage.model.answer(({ json }) => {
      const messages = json['messages'] as readonly { readonly role: string; readonly content: unknown }[]; // as the client sends them
      if (messages.some(({ content }) => content === task)) return textReply(['Done below.']);
      return messages.at(-1)?.role === 'tool' ? textReply(['Started.']) : toolCallReply([call]);
    });
  });

  afterAll(async () => {
    await stage.close();
  });

  it.each([
    ['before it is accepted', 'before-queue-message'],
    ['before its handle is written', 'before-tool-commit'],
  ])('start the job once when the worker dies %s, and return its handle', async (_, point) => {
    const worker = await stage.startWorker({ FEATURE_SUB_JOBS: 'true', CRASH_POINT: `${point}:kill` });
    const viewer = await stage.ask('begin', ['start_job']);
    expect((await worker.exited).signal).toBe('SIGKILL');
    const successor = await stage.startWorker({ FEATURE_SUB_JOBS: 'true' });
    await viewer.ended;
    const { status, content, calls } = await stage.snapshot(viewer.jobId);
    expect({ status, content }).toEqual({ status: 'completed', content: 'Started.' });
    const started = await eventually('what was started has ended', async () => {
      const sql = 'SELECT id, status FROM job WHERE parent_job_id = $1';
      const { rows } = await stage.database.postgres.workerPool.query<{ id: string; status: string }>(sql, [
        viewer.jobId,
      ]);
      return rows.every((row) => row.status === 'completed') ? rows : undefined;
    });
    expect(started).toHaveLength(1);
    expect(JSON.parse(calls[0]?.result ?? '')).toMatchObject({ job_id: started[0]?.id, parent_job_id: viewer.jobId });
    await successor.stop();
  });

  it('deliver the events 1 to N to every viewer from any cursor, and repeat no side effect', async () => {
    expect(await stage.problems()).toEqual([]);
  });
});
