import { describe, expect, it } from '@jest/globals';

import { Inbox } from './socket-transport.js';

const { signal } = new AbortController();

async function drain<Entry>(entries: AsyncIterable<Entry>): Promise<Entry[]> {
  const seen: Entry[] = [];
  for await (const entry of entries) seen.push(entry);
  return seen;
}

describe('an inbox', () => {
  it('returns messages in their order, whether they arrive before or after a read', async () => {
    const inbox = new Inbox<number>(10);
    inbox.put(1);
    const read = drain(inbox.read(signal));
    inbox.put(2);
    await Promise.resolve();
    inbox.put(3);
    inbox.finish();
    inbox.put(4);
    expect(await read).toEqual([1, 2, 3]);
  });

  it('returns waiting messages before it throws', async () => {
    const inbox = new Inbox<number>(10);
    inbox.put(1);
    inbox.finish(new Error('lost'));
    inbox.finish(new Error('later'));
    const read = inbox.read(signal);
    expect(await read.next()).toEqual({ value: 1, done: false });
    await expect(read.next()).rejects.toThrow('lost');
  });

  it('buffers up to its capacity, and reports an overflow last', async () => {
    const inbox = new Inbox<number>(3);
    for (let n = 1; n <= 1_000; n += 1) inbox.put(n);
    const read = inbox.read(signal);
    for (const value of [1, 2, 3]) expect(await read.next()).toEqual({ value, done: false });
    await expect(read.next()).rejects.toMatchObject({ code: 'fell_behind', retryable: true });
  });

  it('ends at once for an aborted reader', async () => {
    const controller = new AbortController();
    const inbox = new Inbox<number>(10);
    const read = drain(inbox.read(controller.signal));
    controller.abort(new Error('enough'));
    await expect(read).rejects.toThrow('enough');
    inbox.put(1);
    await expect(drain(inbox.read(controller.signal))).rejects.toThrow('enough');
  });
});
