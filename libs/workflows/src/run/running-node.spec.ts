import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import type { ChatMessage } from '#models';

import type { ScopeView } from '../engine/node-executor.js';
import type { NodeRunRow } from '../engine/node-run.js';
import type { LeaseContext } from './lease-context.js';
import { compactSession, RunningNode } from './running-node.js';

it('RunningNode tracks the request of an HTTP node as work of its run, from the commit before it until its response', async () => {
  let working = 0;
  const seen: [string, number][] = [];
  const note = (step: string): Promise<void> => {
    seen.push([step, working]);
    return Promise.resolve();
  };
  const context = {
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
      redactor: { of: () => ({ redactLong: (text: string) => Promise.resolve(text) }) },
    },
  };
  // The request of a node reads no more of these than this.
  const node = new RunningNode(context as unknown as LeaseContext, { ordinal: 1 } as NodeRunRow, {} as ScopeView, {
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

const system: ChatMessage = { role: 'system', content: 'You answer.' };
const message = (i: number, length: number): ChatMessage => ({
  role: i % 2 === 0 ? 'user' : 'assistant',
  content: `${i} `.padEnd(length, 'x'),
});
const session = (count: number, length: number) => Array.from({ length: count }, (_, i) => message(i, length));

describe('compactSession', () => {
  it('keeps a session that fits the context of the model', () => {
    const messages = [system, ...session(20, 4_000)];
    expect(compactSession(messages, 128_000)).toEqual({ messages, leftOut: 0 });
  });

  it('drops as many of the oldest messages as necessary, and no prompt', () => {
    const all = session(20, 4_000);
    // 10,000 tokens of 20,000 are free to be read: ten messages of 1,000, less the prompt.
    const { messages, leftOut } = compactSession([system, ...all], 20_000);
    expect(messages).toEqual([system, ...all.slice(11)]);
    expect(leftOut).toBe(11);
  });

  it('keeps the five newest messages of any length', () => {
    const all = session(8, 400_000);
    expect(compactSession([system, ...all], 20_000).messages).toEqual([system, ...all.slice(3)]);
  });

  it('keeps 1,000 tokens for a model with the smallest context', () => {
    const all = session(9, 400);
    expect(compactSession(all, 1).messages).toEqual(all);
  });

  it('counts an image as much as a long text', () => {
    const image: ChatMessage = { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:,' } }] };
    expect(compactSession([image, ...session(9, 400)], 1).leftOut).toBe(1);
  });

  it('keeps the order, and drops only messages older than the kept ones', () => {
    const sizes = fc.array(fc.nat({ max: 50_000 }), { maxLength: 40 });
    fc.assert(
      fc.property(sizes, fc.nat({ max: 60_000 }), (lengths, contextTokens) => {
        const all = lengths.map((length, i) => message(i, length));
        const { messages, leftOut } = compactSession(all, contextTokens);
        expect(messages).toEqual(all.slice(leftOut));
        expect(leftOut).toBeLessThanOrEqual(Math.max(0, all.length - 5));
      }),
    );
  });
});
