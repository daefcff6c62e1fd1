import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { scopeOf } from '#auth';
import { newId } from '#platform';
import { WorkflowsService } from '#workflows';

import { eventually } from '../harness/eventually.js';
import type { NightshiftProcess } from '../harness/processes.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';
import { agent, NodeScripts } from './node-scripts.js';
import { Stage } from './stage.js';
import type { Viewer } from './viewer.js';
import { publishStory, runStory } from './workflow-stories.js';

interface SubJob {
  readonly id: string;
  readonly status: string;
}

describe('sub-jobs with killed workers:', () => {
  let stage: Stage;
  let scripts: NodeScripts;
  let tool: string;

  beforeAll(async () => {
    stage = await Stage.open();
    scripts = new NodeScripts(stage.model);
    const { id } = await publishStory(stage, { nodes: { a: agent('below') }, edges: ['start -> a'] });
    const { name } = await stage.engine.app.get(WorkflowsService).offerAsTool(stage.owner, id, true);
    tool = `workflow.${name.replaceAll(' ', '-')}`;
    scripts.script('below', textReply(['text ', 'below']));
    // What is compiled first is not a test's time.
    const first = await stage.startWorker();
    first.kill('SIGKILL');
    await first.exited;
  });

  afterAll(async () => {
    await stage.close();
  });

  const callsSubJob = (line: string) => {
    const calls = [{ id: 'call_1', name: tool, arguments: '{"input":"Hello"}' }];
    scripts.script(line, toolCallReply(calls), textReply(['text above']));
  };
  const asks = {
    chat: (line: string) => stage.ask(line, [tool]),
    'node of a workflow': (line: string) =>
      runStory(stage, { nodes: { a: agent(line, { tools: [tool] }) }, edges: ['start -> a'] }),
  };
  const subJobsOf = async ({ jobId }: Viewer): Promise<readonly SubJob[]> => {
    const sql = 'SELECT id, status FROM job WHERE parent_job_id = $1';
    return (await stage.database.postgres.workerPool.query<SubJob>(sql, [jobId])).rows;
  };
  /** Has it run on a worker with these settings, which dies, and then on another one. */
  const survive = async (
    ask: (line: string) => Promise<Viewer>,
    env: Readonly<Record<string, string>>,
    until?: (viewer: Viewer, worker: NightshiftProcess) => Promise<void>,
  ) => {
    const line = `above ${newId()}`;
    callsSubJob(line);
    const first = stage.model.requests.length;
    const worker = await stage.startWorker(env);
    const viewer = await ask(line);
    await until?.(viewer, worker);
    expect((await worker.exited).signal).toBe('SIGKILL');
    const successor = await stage.startWorker();
    await viewer.ended;
    successor.kill('SIGKILL');
    await successor.exited;
    return { viewer, asked: scripts.asked(first), line };
  };
  const expectOnce = async (viewer: Viewer) => {
    expect(await stage.snapshot(viewer.jobId)).toMatchObject({
      ...{ status: 'completed', content: 'text above' },
      calls: [{ name: tool, status: 'completed', result: 'text below' }],
    });
    expect(await subJobsOf(viewer)).toMatchObject([{ status: 'completed' }]);
    const ends = viewer.events.filter((event) => event.type === 'tool-call-updated');
    expect(ends).toHaveLength(1);
  };

  describe.each(Object.entries(asks))('sub-job call of a %s', (_, ask) => {
    it('starts its job once on another worker after a kill before the start', async () => {
      const { viewer, asked, line } = await survive(ask, { CRASH_POINT: 'before-sub-job:kill' });
      await expectOnce(viewer);
      expect(asked).toMatchObject({ [`${line} 1`]: 1, 'below 1': 1, [`${line} 2`]: 1 });
    });

    it('starts its job once on another worker after a kill during the start', async () => {
      const { viewer, asked } = await survive(ask, { CRASH_POINT: 'before-queue-message:kill' });
      await expectOnce(viewer);
      expect(asked).toMatchObject({ 'below 1': 1 });
    });

    it('continues its job and delivers the result after a kill while the job runs', async () => {
      const gate = scripts.holdNext('below 1');
      const { viewer, asked } = await survive(ask, {}, async (_viewer, worker) => {
        await scripts.isHeld('below 1');
        worker.kill('SIGKILL');
      });
      gate.open();
      await expectOnce(viewer);
      expect(asked).toMatchObject({ 'below 1': 2 });
    });

    it('ends once after a kill between the end of its job and its own end', async () => {
      const { viewer, asked } = await survive(ask, { CRASH_POINT: 'in-sub-job-result:kill' });
      await expectOnce(viewer);
      expect(asked).toMatchObject({ 'below 1': 1 });
    });
  });

  it('a job that is stopped before another worker starts ends with all its descendants', async () => {
    const line = `above ${newId()}`;
    callsSubJob(line);
    const gate = scripts.holdNext('below 1');
    const worker = await stage.startWorker();
    const viewer = await asks.chat(line);
    await scripts.isHeld('below 1');
    await eventually('the parent job waits', async () =>
      (await stage.snapshot(viewer.jobId)).status === 'waiting' ? true : undefined,
    );
    worker.kill('SIGKILL');
    await worker.exited;
    expect(await stage.stopper.stopTree(scopeOf(stage.owner), viewer.jobId)).toEqual({
      state: 'aborted',
      stoppedSubJobs: 1,
    });
    await stage.startWorker();
    await eventually('the sub-job is cancelled', async () =>
      (await subJobsOf(viewer))[0]?.status === 'cancelled' ? true : undefined,
    );
    gate.open();
  });

  it('no invariant is violated', async () => {
    expect(await stage.problems()).toEqual([]);
  });
});
