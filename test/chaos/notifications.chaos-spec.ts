import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { ChatService } from '#chat';
import { NotificationsRepository } from '#jobs';

import { eventually } from '../harness/eventually.js';
import { scopeOfUser } from '../harness/notifications.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';
import { chat } from './chat.js';
import { Stage } from './stage.js';

describe('notifications of jobs without viewers', () => {
  let stage: Stage;

  beforeAll(async () => {
    stage = await Stage.open();
  });
  afterEach(() => {
    stage.model.assertDone();
  });
  afterAll(async () => {
    await stage.close();
  });

  /** Starts a job on a worker that comes to grief at a point, the only one. */
  const orphan = async (crashPoint: string, tools: readonly string[] = []) => {
    const victim = await stage.startWorker({ CRASH_POINT: crashPoint });
    const { jobId } = await stage.engine.app.get(ChatService).start(stage.owner, chat('go', tools));
    return { jobId, victim };
  };
  const kill = async (crashPoint: string, tools: readonly string[] = []) => {
    const { jobId, victim } = await orphan(crashPoint, tools);
    expect((await victim.exited).signal).toBe('SIGKILL');
    return jobId;
  };
  /** As its time would: the next worker has nothing to wait for. */
  const givenUp = (jobId: string) =>
    stage.database.postgres.workerPool.query(
      `UPDATE job SET lease_until = clock_timestamp() - interval '1 s' WHERE id = $1 AND status = 'running'`,
      [jobId],
    );
  const ended = (jobId: string) =>
    eventually('the job has ended', async () => ((await stage.snapshot(jobId)).ended ? true : undefined));
  const notificationsOf = async (jobId: string) => {
    const { workspaceId, userId } = stage.owner;
    const repository = stage.engine.app.get(NotificationsRepository);
    const all = await repository.listMine(scopeOfUser(workspaceId, userId), {}, { limit: 100 });
    return all.filter((notification) => notification.jobId === jobId).map(({ type }) => type);
  };

  it('arrive once when the worker is killed before it writes the end', async () => {
    stage.model.enqueue(textReply(['The end.']), textReply(['The end.']));
    const jobId = await kill('before-finish:kill');
    expect(await notificationsOf(jobId)).toEqual([]);
    const successor = await stage.startWorker();
    await ended(jobId);
    expect(await notificationsOf(jobId)).toEqual(['job_completed']);
    await successor.stop();
  });

  it('arrive once when a paused worker wakes up and writes the end too', async () => {
    stage.model.enqueue(textReply(['The end.']), textReply(['The end.']));
    const before = stage.model.requests.length;
    const { jobId, victim } = await orphan('before-finish:stop');
    await eventually('the first worker has asked', () => (stage.model.requests.length > before ? true : undefined));
    await givenUp(jobId);
    const successor = await stage.startWorker();
    await ended(jobId);
    await eventually('it has heard that it is too late', () => {
      victim.kill('SIGCONT'); // whenever it has come to its point
      return victim.logs().some(({ msg }) => msg === 'run stopped without ending its job') ? true : undefined;
    });
    victim.kill('SIGKILL');
    expect(await notificationsOf(jobId)).toEqual(['job_completed']);
    await successor.stop();
  });

  it('arrive once when the worker is killed before and after it opens a request', async () => {
    const question = { id: 'q', name: 'ask_person', arguments: '{"question":"Which size?"}' };
    // The request is committed before the other call of its round starts.
    const asks = toolCallReply([question, { id: 'c', name: 'charge', arguments: '{}' }]);
    for (const [crashPoint, ...replies] of [
      ['after-response:kill', asks, asks],
      ['tool-in-flight:kill', asks],
    ] as const) {
      stage.model.enqueue(...replies);
      const jobId = await kill(crashPoint, ['ask_person', 'charge']);
      const successor = await stage.startWorker();
      await stage.waits(jobId);
      expect(await notificationsOf(jobId)).toEqual(['input_needed']);
      await successor.stop();
    }
  });
});
