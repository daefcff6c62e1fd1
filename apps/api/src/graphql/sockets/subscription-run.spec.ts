import { describe, expect, it } from '@jest/globals';

import { GraphqlContext } from '#auth/api';

import type { PreparedOperation } from '../documents/prepare-operation.js';
import { SubscriptionRun } from './subscription-run.js';

const unauthorized = () => {
  throw new Error('not asked in these tests');
};

function setUp(source: AsyncIterable<readonly object[]>) {
  const sent: string[] = [];
  const closed: string[] = [];
  let drain: Promise<void> | undefined;
  const context = new GraphqlContext({
    requestId: 'r',
    identity: { id: 'user:u', userId: 'u', scopes: [], workspaceId: null, expiresAt: null },
    get entrance(): never {
      return unauthorized();
    },
    close: (reason) => closed.push(reason),
  });
  const run = new SubscriptionRun({
    prepared: {} as PreparedOperation, // only execution looks at it, and the encoder knows every event here
    context,
    source,
    encoder: { encode: (event) => JSON.stringify(event) },
    outlet: { next: (text) => sent.push(text), drained: () => drain, toText: JSON.stringify },
  });
  return {
    run,
    context,
    sent,
    closed,
    holdDrain: () => {
      const gate = Promise.withResolvers<undefined>();
      drain = gate.promise.then(() => undefined);
      return gate;
    },
  };
}

async function* batches(pulled: number[], count: number) {
  for (let i = 0; i < count; i += 1) {
    pulled.push(i);
    await Promise.resolve();
    yield [{ i }];
  }
}

describe('SubscriptionRun', () => {
  it('sends each event, then ends and releases its resources', async () => {
    const { run, context, sent } = setUp(batches([], 3));
    let freed = 0;
    context.onEnd(() => (freed += 1));
    expect(await run.next()).toEqual({ done: true, value: undefined });
    expect(sent).toEqual(['{"i":0}', '{"i":1}', '{"i":2}']);
    expect([context.signal.aborted, freed]).toEqual([true, 1]);
  });

  it('reads no event from its source while the viewer is slow', async () => {
    const pulled: number[] = [];
    const { run, holdDrain, sent } = setUp(batches(pulled, 1_000));
    const gate = holdDrain();
    const done = run.next();
    for (let i = 0; i < 50; i += 1) await new Promise((resolve) => setImmediate(resolve));
    expect([pulled.length, sent.length]).toEqual([1, 0]);
    gate.resolve(undefined);
    await done;
    expect(sent).toHaveLength(1_000);
  });

  it('closes the connection and sends no further event when the viewer loses access', async () => {
    const { run, context, sent, closed } = setUp(batches([], 5));
    const answers = [null, null, 'unauthorized'] as const;
    let asked = 0;
    context.lostAccess = () => {
      const answer = answers[asked++] ?? null;
      return answer === null ? null : Promise.resolve(answer);
    };
    await run.next();
    expect([sent.length, closed]).toEqual([2, ['unauthorized']]);
  });

  it('ends when the viewer leaves', async () => {
    const { run, context } = setUp({
      async *[Symbol.asyncIterator]() {
        await new Promise<void>((resolve) => {
          context.onEnd(resolve);
        });
        yield* [];
      },
    });
    const done = run.next();
    await run.return();
    expect(await done).toEqual({ done: true, value: undefined });
  });

  it('rejects with the error of its source', async () => {
    const { run, context } = setUp({
      // eslint-disable-next-line @typescript-eslint/require-await -- it fails at once
      async *[Symbol.asyncIterator](): AsyncGenerator<readonly object[]> {
        throw new Error('the log is gone');
      },
    });
    await expect(run.next()).rejects.toThrow('the log is gone');
    expect(context.signal.aborted).toBe(true);
  });
});
