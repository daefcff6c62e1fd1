import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { PrincipalsRepository } from '#auth';
import type { StartChat } from '#chat';
import type { Interrupt } from '#jobs';

import { eventually } from '../harness/eventually.js';
import { createGate, errorReply, type Reply, textReply, toolCallReply } from '../harness/scripted-reply.js';
import { agent, openWorkflowStage, type WorkflowStage } from '../harness/workflow-stage.js';

let stage: WorkflowStage;

beforeAll(async () => {
  stage = await openWorkflowStage({
    ...{ MODEL_RETRY_FOR_MS: '600000', ON_PROVIDER_DOWN: 'wait', MODEL_BACKOFF_MS: '1', MODEL_RETRY_HOLD_MS: '200' },
  });
});
afterEach(() => {
  stage.assertPlayed();
  stage.ran.length = 0;
});
afterAll(async () => {
  await stage.close();
});

/** Asked for a time that no test waits for. */
const later = (status = 503) => errorReply(status, undefined, { 'retry-after': '3600' });

const chat = async (line: string, replies: readonly Reply[], changes: Partial<StartChat> = {}) => {
  stage.script(line, ...replies);
  const names = (changes.tools ?? []).filter((tool) => typeof tool === 'string');
  const { jobId } = await stage.ask(names, { messages: [{ role: 'user', content: line }], ...changes });
  return jobId;
};
const waitOf = async (jobId: string): Promise<Interrupt> => {
  const [interrupt] = await stage.waits(jobId);
  if (interrupt === undefined) throw new Error('the job waits for no request');
  return interrupt;
};
const retriesOf = async (jobId: string) => (await stage.eventsOf(jobId, 'model-retry')).map(({ body }) => body);
/** Lets the timer of the wait fire, and the next try happen. */
const fire = async (jobId: string) => {
  await stage.expire(jobId);
  await stage.timers();
};

describe('chat job during a provider outage', () => {
  it.each([408, 409, 425, 429, 500, 503])(
    'retries after status %i and sends viewers the time of each retry',
    async (status) => {
      const jobId = await chat(`Try ${status}.`, [errorReply(status), errorReply(status), textReply(['Here.'])]);
      expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Here.', rounds: [{}] });
      expect(await retriesOf(jobId)).toMatchObject([
        { round: 1, failures: 1, waits: false, code: expect.stringMatching(/^model_/), reason: expect.any(String) },
        { round: 1, failures: 2, waits: false },
      ]);
      expect(await stage.eventsOf(jobId, 'job-waiting')).toEqual([]);
    },
  );

  it('waits without a worker for a long Retry-After and continues when its timer fires', async () => {
    const jobId = await chat('Come later.', [later(429), textReply(['Back.'])]);
    const wait = await waitOf(jobId);
    expect(wait).toMatchObject({ kind: 'provider_unavailable', title: 'The model provider is unavailable' });
    expect(wait.request).toMatchObject({ code: 'model_rate_limited', failures: 1, decisions: ['retry', 'give_up'] });
    const seconds = ((wait.expiresAt ?? 0) - wait.createdAt) / 1_000;
    expect([seconds > 3_590, seconds < 3_970]).toEqual([true, true]);
    expect(await retriesOf(jobId)).toMatchObject([{ waits: true, retryAt: wait.expiresAt }]);
    await fire(jobId);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Back.', rounds: [{}] });
    const usage = await stage.rows('SELECT prompt_tokens, rounds FROM job WHERE id = $1', [jobId]);
    expect(usage).toEqual([{ prompt_tokens: 11, rounds: 1 }]);
  });

  it('continues after its last committed round and runs no tool twice', async () => {
    const call = toolCallReply([{ id: 'call_1', name: 'send', arguments: '{"to":"me"}' }]);
    const jobId = await chat('Send it.', [call, later(), later(), textReply(['Sent.'])], { tools: ['send'] });
    await waitOf(jobId);
    await fire(jobId);
    await eventually('it waits again', async () => ((await retriesOf(jobId)).length === 2 ? true : undefined));
    expect((await waitOf(jobId)).request).toMatchObject({ failures: 2, committed: 1 });
    await fire(jobId);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Sent.', rounds: [{}, {}] });
    expect(stage.ran).toEqual([['send', { to: 'me' }]]);
  });

  it('calls the provider at once when a member decides to retry', async () => {
    const jobId = await chat('Now!', [later(), textReply(['Now.'])]);
    const wait = await waitOf(jobId);
    const decided = await stage.decide(stage.people.member, wait, { decision: 'retry' });
    expect(decided).toMatchObject({ status: 'resolved', outcome: { outcome: 'retry' } });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Now.' });
    await expect(stage.decide(stage.people.member, wait, { decision: 'give_up' })).rejects.toMatchObject({
      code: 'already_answered',
    });
  });

  it('fails without another request when a member decides `give_up`', async () => {
    const jobId = await chat('Enough.', [later(429)]);
    const wait = await waitOf(jobId);
    await expect(stage.decide(stage.people.member, wait, { decision: 'approve' })).rejects.toMatchObject({
      code: 'bad_request',
    });
    await expect(stage.decide(stage.people.viewer, wait, { decision: 'give_up' })).rejects.toMatchObject({
      code: 'cannot_decide',
    });
    await stage.decide(stage.people.member, wait, { decision: 'give_up' });
    expect(await stage.ended(jobId)).toMatchObject({
      status: 'failed',
      error: {
        ...{ code: 'model_rate_limited', retryable: true },
        message: expect.stringContaining('chose to stop waiting'),
      },
    });
  });

  it('fails with the last error after MODEL_WAIT_FOR_MS', async () => {
    const jobId = await chat('Too long.', [later(), errorReply(503)]);
    const { id } = await waitOf(jobId);
    await stage.rows(`UPDATE interrupt SET request = request || '{"since": 1000}' WHERE id = $1`, [id]);
    await fire(jobId);
    expect(await stage.ended(jobId)).toMatchObject({
      status: 'failed',
      error: {
        ...{ code: 'model_unavailable', retryable: true },
        message: expect.stringContaining('did not recover within 24 hours'),
      },
    });
  });

  it('fails after the short retries when it was started with onProviderDown `fail`', async () => {
    const providerDown = { onProviderDown: 'fail' } as const;
    const jobId = await chat('Fail.', [errorReply(503), later()], { providerDown });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'failed', error: { code: 'model_unavailable' } });
    expect(await retriesOf(jobId)).toHaveLength(1);
  });

  it('waits at once when its start allows no time for retries', async () => {
    const jobId = await chat('No retries.', [later(), textReply(['Good.'])], { providerDown: { modelRetryForMs: 0 } });
    await waitOf(jobId);
    await fire(jobId);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Good.' });
  });

  it.each([400, 401, 403, 404])('fails at once after status %i', async (status) => {
    const jobId = await chat(`Wrong ${status}.`, [errorReply(status)]);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'failed' });
    expect(await retriesOf(jobId)).toEqual([]);
  });

  it('ends as cancelled when the requester stops it while it waits', async () => {
    const jobId = await chat('Stop.', [later()]);
    const { id } = await waitOf(jobId);
    await stage.stop(jobId);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'cancelled' });
    expect(await stage.rows('SELECT status FROM interrupt WHERE id = $1', [id])).toEqual([{ status: 'cancelled' }]);
  });
});

describe('workflow job during a provider outage', () => {
  it('waits as a job, uses no retry of the node, and completes later', async () => {
    stage.script('Answer.', later(), textReply(['Fine.']));
    const retry = { errorHandling: { mode: 'stop', retry: { maxRetries: 1, baseDelay: 1 } } };
    const jobId = await stage.run({ a: agent('Answer.', retry), out: { type: 'output', format: 'text' } }, [
      'start -> a',
      'a -> out',
    ]);
    expect(await waitOf(jobId)).toMatchObject({ kind: 'provider_unavailable', nodeId: 'a' });
    await fire(jobId);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: expect.stringContaining('Fine.') });
    const [run] = (await stage.runsOf(jobId)).filter((one) => JSON.stringify(one).includes('"a"'));
    expect(JSON.stringify(run)).not.toContain('retries');
    expect(await retriesOf(jobId)).toMatchObject([{ waits: true, nodeId: 'a' }]);
  });

  it('keeps the wait of one node open while another node continues', async () => {
    stage.script('First.', later(), textReply(['One.']));
    stage.script('Second.', later(), textReply(['Two.']));
    const nodes = { a: agent('First.'), b: agent('Second.') };
    const jobId = await stage.run(nodes, ['start -> a', 'start -> b']);
    const waits = await eventually('both nodes wait', async () => {
      const open = await stage.waits(jobId);
      return open.length === 2 ? open : undefined;
    });
    const first = waits.find(({ nodeId }) => nodeId === 'a');
    await stage.answer(first, { decision: 'retry' });
    await eventually('the first node has ended', async () =>
      (await stage.statusesOf(jobId))['a'] === 'completed' ? true : undefined,
    );
    const left = await stage.waits(jobId);
    expect(left.map(({ id }) => id)).toEqual(waits.filter(({ nodeId }) => nodeId === 'b').map(({ id }) => id));
    expect(stage.requests('Second.')).toHaveLength(1);
    await stage.answer(left[0], { decision: 'retry' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed' });
  });

  it('fails when a member decides `give_up`, also with error handling `continue`', async () => {
    stage.script('Give up.', later());
    const jobId = await stage.run({ a: agent('Give up.', { errorHandling: { mode: 'continue' } }) }, ['start -> a']);
    await stage.decide(stage.people.owner, await waitOf(jobId), { decision: 'give_up' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'failed', error: { code: 'model_unavailable' } });
  });
});

describe('waiting job of a requester without access', () => {
  const withoutMember = async (work: () => Promise<void>): Promise<void> => {
    const { workspaceId, userId, id, role } = stage.people.member;
    const inWorkspace = (text: string, values: readonly unknown[]) =>
      stage.database.postgres.withWorkspaceSql(workspaceId, async (client) => {
        await client.query(text, [...values]);
      });
    const known = async (isMember: boolean) => {
      const principals = stage.engine.app.get(PrincipalsRepository);
      await eventually('the change is seen', async () =>
        ((await principals.find(workspaceId, id)) !== null) === isMember ? true : undefined,
      );
    };
    await inWorkspace('DELETE FROM membership WHERE workspace_id = $1 AND user_id = $2', [workspaceId, userId]);
    await known(false);
    try {
      await work();
    } finally {
      const values = [workspaceId, userId, role];
      await inWorkspace('INSERT INTO membership (workspace_id, user_id, role) VALUES ($1, $2, $3)', values);
      await known(true);
    }
  };
  const lost = { code: 'requester_lost_access', message: expect.stringContaining('no longer a member') };

  it('fails without another model request when it resumes', async () => {
    const jobId = await chat('Leave.', [later()]);
    const wait = await waitOf(jobId);
    await withoutMember(async () => {
      await stage.decide(stage.people.owner, wait, { decision: 'retry' });
      expect(await stage.ended(jobId)).toMatchObject({ status: 'failed', error: lost });
    });
    expect(stage.requests('Leave.')).toHaveLength(1);
  });

  it('fails as a workflow job even if its node has errorHandling `continue`', async () => {
    stage.script('Leave, too.', later());
    const node = agent('Leave, too.', { errorHandling: { mode: 'continue' } });
    const jobId = await stage.run({ a: node }, ['start -> a']);
    const wait = await waitOf(jobId);
    await withoutMember(async () => {
      await stage.decide(stage.people.owner, wait, { decision: 'retry' });
      expect(await stage.ended(jobId)).toMatchObject({ status: 'failed', error: lost });
    });
    expect(stage.requests('Leave, too.')).toHaveLength(1);
  });
});

describe('job that waits in its worker for the next attempt', () => {
  let sleepy: WorkflowStage;

  beforeAll(async () => {
    const settings = { MODEL_RETRY_FOR_MS: '600000', ON_PROVIDER_DOWN: 'wait', MODEL_BACKOFF_MS: '60000' };
    sleepy = await openWorkflowStage({ ...settings, MODEL_RETRY_HOLD_MS: '600000' });
  });
  afterAll(async () => {
    await sleepy.database.close();
  });

  const asleep = async (line: string) => {
    sleepy.script(line, errorReply(503));
    const { jobId } = await sleepy.ask([], { messages: [{ role: 'user', content: line }] });
    await eventually('it sleeps', async () =>
      (await sleepy.eventsOf(jobId, 'model-retry')).length === 1 ? true : undefined,
    );
    return jobId;
  };

  it('ends at once when it is cancelled', async () => {
    const jobId = await asleep('Sleep.');
    await sleepy.stop(jobId);
    expect(await sleepy.ended(jobId)).toMatchObject({ status: 'cancelled' });
  });

  it('returns to the queue at once when its worker stops', async () => {
    const jobId = await asleep('Sleep, too.');
    await sleepy.engine.close();
    await sleepy.model.close();
    const { workspaceId } = sleepy.people.owner;
    const status = await sleepy.database.postgres.withWorkspaceSql(
      workspaceId,
      async (client) => (await client.query<{ status: string }>('SELECT status FROM job WHERE id = $1', [jobId])).rows,
    );
    expect(status).toEqual([{ status: 'queued' }]);
  });
});

describe('job with a silent model provider', () => {
  let scaled: WorkflowStage;
  const silent: Reply = { body: [], before: createGate(), end: 'hang' };
  /** Together longer than the time that a job may work. */
  const silence = Array.from({ length: 7 }, () => silent);

  beforeAll(async () => {
    scaled = await openWorkflowStage({
      ...{ MODEL_RETRY_FOR_MS: '600000', ON_PROVIDER_DOWN: 'wait', MODEL_BACKOFF_MS: '1', MODEL_RETRY_HOLD_MS: '5000' },
      ...{ MODEL_FIRST_BYTE_TIMEOUT_MS: '700', JOB_TIMEOUT_MS: '3000', MODEL_BREAKER_FAILURES: '0' },
    });
  });
  afterAll(async () => {
    await scaled.close();
  });

  const ask = async (line: string, changes: Partial<StartChat> = {}) => {
    scaled.script(line, ...silence, textReply(['Back.']));
    const { jobId } = await scaled.ask([], { messages: [{ role: 'user', content: line }], ...changes });
    return jobId;
  };

  it('completes when the provider responds again, even if the outage was longer than the time limit of the job', async () => {
    const jobId = await ask('Silence.');
    expect(await scaled.ended(jobId)).toMatchObject({ status: 'completed', content: 'Back.' });
    expect(await scaled.eventsOf(jobId, 'model-retry')).toHaveLength(silence.length);
  });

  it('completes after waits without a worker between its requests', async () => {
    const jobId = await ask('Long silence.', { providerDown: { modelRetryForMs: 0 } });
    for (const [i] of silence.entries()) {
      await eventually('it waits again', async () =>
        (await scaled.eventsOf(jobId, 'job-waiting')).length === i + 1 ? true : undefined,
      );
      await scaled.expire(jobId);
      await scaled.timers();
    }
    expect(await scaled.ended(jobId)).toMatchObject({ status: 'completed', content: 'Back.' });
    expect(await scaled.eventsOf(jobId, 'job-waiting')).toHaveLength(silence.length);
  });
});
