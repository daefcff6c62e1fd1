import { describe, expect, it, jest } from '@jest/globals';

import type { PlannedCall } from '#tools';

import { CallRouter } from './call-router.js';
import type { CallingRun } from './calling-run.js';
import { type CallServices, JobCalls } from './job-calls.js';
import type { RoundFinished } from './round-write.js';
import { UnknownCalls } from './unknown-calls.js';

const ordinals = [1, 2, 3, 4];
const planned = (ordinal: number): PlannedCall => ({
  ordinal,
  callId: `call_${ordinal}`,
  name: `tool_${ordinal}`,
  arguments: '{}',
  effect: 'once',
  disposition: { type: 'run' },
  runtime: 'server',
  toolVersion: null,
});

/** Resolves the calls in reverse order. */
function lastFirst<Answer>(count: number, answer: Answer) {
  const waiting: ((answer: Answer) => void)[] = [];
  return () =>
    new Promise<Answer>((resolve) => {
      waiting.push(resolve);
      if (waiting.length === count)
        for (const end of waiting.reverse())
          setImmediate(() => {
            end(answer);
          });
    });
}

describe('the requests of one round', () => {
  it('follow the order of its calls when the calls are decided in another order', async () => {
    const verdict = {
      timeoutMs: 1_000,
      rule: { reason: 'r' },
      locked: false,
      decidableBy: 'requester',
      fourEyes: false,
    };
    const gate = { judge: lastFirst(ordinals.length, { type: 'ask', verdict }) };
    const catalog = { offeredTo: () => Promise.resolve({ find: () => undefined }) };
    // Stand-ins: no other members are used here.
    const router = new CallRouter(gate as never, catalog as never, {} as never, {} as never, {} as never);
    const job = { workspaceId: 'w', jobId: 'j' };
    const calls = new JobCalls(
      { job } as unknown as CallingRun,
      { router, hooks: { of: () => ({ has: () => false }) } } as unknown as CallServices,
      {
        job: { ...job, threadId: null, createdBy: 'u', principal: 'user:u', agent: null, requestPolicy: null },
        offered: [],
        client: undefined,
      },
      [],
    );
    const { routes } = await calls.routeRound({ round: 1, calls: ordinals.map(planned) } as unknown as RoundFinished);
    const ids = ordinals.map((ordinal) => {
      const route = routes.get(ordinal);
      return route?.type === 'open' ? route.interrupt.id : '';
    });
    expect(ids).not.toContain('');
    expect(ids).toEqual(ids.toSorted());
  });
});

describe('the requests about calls with an unknown outcome', () => {
  it('follow the order of the calls when their tools reply in another order', async () => {
    const verify = lastFirst(ordinals.length, { outcome: 'unknown' });
    const catalog = { of: () => Promise.resolve({ find: () => ({ onUnknown: 'verify', verify }) }) };
    const config = { values: { TOOL_TIMEOUT_MS: 10_000 } };
    const opened: string[] = [];
    const run = {
      job: { workspaceId: 'w', jobId: 'j', threadId: null, createdBy: null },
      signal: new AbortController().signal,
      assertValid: () => undefined,
      append: ({ events }: { events: { body: { callId: string } }[] }) => {
        opened.push(...events.map(({ body }) => body.callId));
      },
    };
    const state = { id: 'c', interruptId: null, isReported: false, approvedArguments: null, startedAt: 1, worker: 'w' };
    const lost = ordinals.map((ordinal) => ({ ...planned(ordinal), round: 1, status: 'interrupted', state }));
    const unknown = new UnknownCalls(catalog as never, {} as never, config as never, {} as never);
    await unknown.decide(run as unknown as CallingRun, lost.toReversed() as never);
    expect(opened).toEqual(ordinals.map((ordinal) => `call_${ordinal}`));
  });

  it('do not wait for a tool that never replies after its job was aborted', async () => {
    const controller = new AbortController();
    const verify = () => new Promise<never>(() => undefined);
    const of = () => {
      controller.abort(new Error('stopped'));
      return Promise.resolve({ find: () => ({ onUnknown: 'verify', verify }) });
    };
    const append = jest.fn();
    const run = {
      job: { workspaceId: 'w', jobId: 'j', threadId: null, createdBy: null },
      ...{ signal: controller.signal, assertValid: () => undefined, append },
    };
    const state = { id: 'c', interruptId: null, isReported: false, approvedArguments: null, startedAt: 1, worker: 'w' };
    const config = { values: { TOOL_TIMEOUT_MS: 10_000 } };
    const unknown = new UnknownCalls({ of } as never, {} as never, config as never, {} as never);
    const lost = { ...planned(1), round: 1, status: 'interrupted', state };
    await unknown.decide(run as unknown as CallingRun, [lost] as never);
    expect(append).toHaveBeenCalledTimes(1);
  });
});
