import { expect, it } from '@jest/globals';

import { Config, Redactor } from '#platform';
import type { ToolCallTelemetry, ToolCatalog } from '#tools';

import type { CallingRun } from './calling-run.js';
import { type RunnableCall, ToolRunner } from './tool-runner.js';

it('ToolRunner tracks a call as work of its run, from the commit of its start until the call is settled', async () => {
  let working = 0;
  const seen: [string, number][] = [];
  const note = (step: string): Promise<void> => {
    seen.push([step, working]);
    return Promise.resolve();
  };
  const run = {
    job: { jobId: 'j', workspaceId: 'w', epoch: 1 },
    signal: new AbortController().signal,
    activity: {
      track: async (work: Promise<unknown>) => {
        working += 1;
        return work.finally(() => {
          working -= 1;
        });
      },
    },
    assertValid: () => undefined,
    append: () => undefined,
    commit: () => note('settled'),
    commitUnlessCancelled: async () => {
      await Promise.resolve();
      await note('started');
    },
  };
  const lookUp = () => note('looked up').then(() => ({ find: () => undefined }));
  const catalog = { of: lookUp, offeredTo: lookUp };
  const runner = new ToolRunner(
    catalog as unknown as ToolCatalog,
    {} as ToolCallTelemetry, // a withdrawn tool is not counted
    new Redactor(),
    Config.from({ NODE_ENV: 'test' }),
  );
  const call: RunnableCall = {
    ...{ ordinal: 1, callId: 'c', name: 'gone', arguments: '{}', effect: 'once', status: 'pending', text: '' },
    ...{ toRun: '{}', toolVersion: 'v', attempt: 1 },
  };
  // A call reads only these members of its run.
  const asCallingRun = run as unknown as CallingRun;
  const results = await runner.runCalls(asCallingRun, [call], {
    round: 1,
    isStarted: true,
    deferredRound: undefined,
    hooks: { has: () => false } as never,
  });
  expect(results).toMatchObject([{ ordinal: 1, status: 'error' }]);
  expect(seen).toEqual([
    ['started', 1],
    ['looked up', 1],
    ['looked up', 1],
    ['settled', 1],
  ]);
  expect(working).toBe(0);
});
