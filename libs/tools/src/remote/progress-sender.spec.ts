import { describe, expect, it } from '@jest/globals';

import { ManualClock } from '#platform';

import { type ProgressChunk, ProgressSender } from './progress-sender.js';

function start(fail = false) {
  const sent: ProgressChunk[] = [];
  const clock = new ManualClock();
  const send = (chunk: ProgressChunk) => {
    sent.push(chunk);
    return fail ? Promise.reject(new Error('no')) : Promise.resolve();
  };
  const sender = new ProgressSender(send, clock, (text) => text.replace('s3cret', '[redacted]'));
  return { sent, clock, sender };
}

describe('ProgressSender', () => {
  it('sends the first progress at once, then the newest twice a second, numbered', async () => {
    const { sent, clock, sender } = start();
    for (let progress = 1; progress <= 4; progress++) sender.report({ progress, total: 9 });
    await sender.idle;
    clock.advance(500);
    await sender.idle;
    sender.report({ message: 'nearly there' });
    clock.advance(500);
    await sender.close();
    expect(sent).toEqual([
      { seq: 1, chunk: { progress: 1, total: 9 }, is_final_chunk: false },
      { seq: 2, chunk: { progress: 4, total: 9 }, is_final_chunk: false },
      { seq: 3, chunk: { message: 'nearly there' }, is_final_chunk: false },
    ]);
    expect(clock.pending).toBe(0);
  });

  it('sends pending progress when the call ends, and none after it', async () => {
    const { sent, clock, sender } = start();
    sender.report({ progress: 1 });
    sender.report({ progress: 2 });
    await sender.close();
    sender.report({ progress: 3 });
    clock.advance(5_000);
    expect(sent.map(({ seq, chunk, is_final_chunk }) => [seq, chunk, is_final_chunk])).toEqual([
      [1, { progress: 1 }, false],
      [2, { progress: 2 }, true],
    ]);
  });

  it('sends no secret, no split surrogate pair and no number that JSON cannot represent', async () => {
    const { sent, sender } = start();
    sender.report({ progress: Infinity, total: NaN, message: `s3cret \ud800 ${'é'.repeat(8_192)}` });
    await sender.close();
    const { chunk } = sent[0] ?? {};
    expect(Object.keys(chunk ?? {})).toEqual(['message']);
    const { message } = chunk as { message: string };
    expect(message.startsWith('[redacted] \ufffd é')).toBe(true);
    expect(Buffer.byteLength(message)).toBeLessThanOrEqual(8_192);
  });

  it('keeps only the newest progress while a message is being sent', async () => {
    const gate = Promise.withResolvers<undefined>();
    const sent: number[] = [];
    const clock = new ManualClock();
    const send = async ({ seq }: ProgressChunk) => {
      sent.push(seq);
      await gate.promise;
    };
    const sender = new ProgressSender(send, clock, (text) => text);
    for (let progress = 1; progress <= 20; progress++) {
      sender.report({ progress });
      clock.advance(500);
    }
    gate.resolve(undefined);
    await sender.close();
    expect(sent).toEqual([1, 2]);
  });

  it('continues when a message cannot be sent', async () => {
    const { sent, clock, sender } = start(true);
    sender.report({ progress: 1 });
    await sender.idle;
    clock.advance(500);
    sender.report({ progress: 2 });
    await sender.close();
    expect(sent).toHaveLength(2);
  });
});
