import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { StartChat } from '#chat';

import { eventually } from '../harness/eventually.js';
import { createGate, type Reply, textReply } from '../harness/scripted-reply.js';
import { openWorkflowStage, type WorkflowStage } from '../harness/workflow-stage.js';

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

  it('completes once the provider responds, also when the outage was longer than its working time', async () => {
    const jobId = await ask('Silence.');
    expect(await scaled.ended(jobId)).toMatchObject({ status: 'completed', content: 'Back.' });
    expect(await scaled.eventsOf(jobId, 'model-retry')).toHaveLength(silence.length);
  });

  it('completes after waits that give its worker up between the requests', async () => {
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
