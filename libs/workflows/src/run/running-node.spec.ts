import { expect, it } from '@jest/globals';

import type { ScopeView } from '../engine/node-executor.js';
import type { NodeRunRow } from '../engine/node-run.js';
import type { RunScope } from './run-scope.js';
import { RunningNode } from './running-node.js';

it('tracks the request of an HTTP node as work of its run, from the commit before it until its response', async () => {
  let working = 0;
  const seen: [string, number][] = [];
  const note = (step: string): Promise<void> => {
    seen.push([step, working]);
    return Promise.resolve();
  };
  const scope = {
    run: {
      job: { jobId: 'j', workspaceId: 'w' },
      activity: {
        track: async (work: Promise<unknown>) => {
          working += 1;
          return work.finally(() => {
            working -= 1;
          });
        },
      },
      commit: () => note('commit'),
      assertValid: () => undefined,
    },
    services: {
      hosts: { of: () => Promise.resolve([]) },
      fetch: { request: () => note('request').then(() => ({ status: 201, body: Buffer.from('made') })) },
      redactor: { of: () => ({ redact: (text: string) => text }) },
    },
  };
  // The request of a node reads no more of these than this.
  const node = new RunningNode(scope as unknown as RunScope, { ordinal: 1 } as NodeRunRow, {} as ScopeView, {
    signal: new AbortController().signal,
    isContent: false,
  });
  const request = { method: 'POST', url: 'http://127.0.0.1/', headers: {}, body: 'x', timeoutMs: 1_000 } as const;
  expect(await node.fetch(request)).toEqual({ status: 201, text: 'made' });
  expect(seen).toEqual([
    ['commit', 1],
    ['request', 1],
  ]);
  expect(working).toBe(0);
});
