import type { ServerResponse } from 'node:http';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';

import { describe, expect, it } from '@jest/globals';

import { OutboundFixture } from '../../../../test/harness/outbound-fixture.js';
import { until } from '../../../../test/harness/until.js';
import { ManualClock } from '../clock.js';

const given = new OutboundFixture();

const zeros = Buffer.alloc(4_000_000);

describe('Bounds of GuardedFetch', () => {
  it('truncate a body over maxBytes and report it', async () => {
    given.answering(200, {}, zeros);
    const answer = await given.ask({ limits: { maxBytes: 100_000 } });
    expect([answer.body.length, answer.isCut]).toEqual([100_000, true]);
  });

  it('accept a body of exactly maxBytes', async () => {
    given.answering(200, {}, zeros.subarray(0, 100_000));
    expect(await given.ask({ limits: { maxBytes: 100_000 } })).toMatchObject({ isCut: false });
  });

  it.each([
    ['gzip', gzipSync(zeros)],
    ['br', brotliCompressSync(zeros)],
    ['deflate', deflateSync(zeros)],
    ['X-GZIP', gzipSync(zeros)],
  ])('apply to a body after the decompression of %s', async (coding, body) => {
    given.answering(200, { 'content-encoding': coding }, body);
    const answer = await given.ask({ limits: { maxBytes: 50_000 } });
    expect([answer.body.length, answer.isCut]).toEqual([50_000, true]);
    expect(await given.ask({ limits: { maxBytes: zeros.length } })).toMatchObject({ isCut: false });
  });

  it('apply to a compressed body that decompresses to nothing', async () => {
    const nothing = gzipSync('');
    given.answering(200, { 'content-encoding': 'gzip' }, Buffer.concat(Array.from({ length: 5_000 }, () => nothing)));
    expect(await given.ask({ limits: { maxBytes: 10_000 } })).toMatchObject({ isCut: true });
  });

  it.each(['gzip, gzip', 'zstd', 'nonsense'])('reject a body with the content coding %s', async (coding) => {
    given.answering(200, { 'content-encoding': coding }, gzipSync(gzipSync('x')));
    await expect(given.ask()).rejects.toMatchObject({ code: 'outbound_broken' });
  });

  it('reject a body that does not match its content coding or ends early', async () => {
    for (const body of [Buffer.from('plain'), gzipSync('x'.repeat(1_000)).subarray(0, 20)]) {
      given.answering(200, { 'content-encoding': 'gzip' }, body);
      await expect(given.ask()).rejects.toMatchObject({ code: 'outbound_broken' });
    }
    given.handler = (_, response) => {
      response.writeHead(200, { 'content-length': 100 });
      response.write('half');
      response.flushHeaders();
      setImmediate(() => response.destroy());
    };
    await expect(given.ask()).rejects.toMatchObject({ code: 'outbound_broken' });
  });

  it('reject headers that are too large', async () => {
    given.answering(200, { 'x-long': 'a'.repeat(40_000) });
    await expect(given.ask()).rejects.toMatchObject({ code: 'outbound_too_large' });
  });

  it.each([
    ['first_byte', { firstByteMs: 50 }, () => undefined],
    ['idle', { firstByteMs: 3_600_000, idleMs: 50 }, (response: ServerResponse) => response.write('slow')],
    ['total', { totalMs: 50 }, (response: ServerResponse) => response.write('slow')],
  ])('end a response that is too slow (%s)', async (stage, limits, begin) => {
    const clock = new ManualClock();
    let begun = false;
    given.handler = (_, response) => {
      begin(response);
      begun = true;
    };
    const none = { firstByteMs: null, idleMs: null, totalMs: null };
    const answer = expect(given.ask({ limits: { ...none, ...limits } }, { clock })).rejects.toMatchObject({
      code: 'outbound_timeout',
      message: expect.stringMatching(
        stage === 'first_byte' ? 'begin' : stage === 'idle' ? 'stopped sending' : 'finish',
      ),
    });
    await until('the server has begun', () => begun);
    // The first byte is on its way: time moves on until the timer in question is the one that runs.
    await until('time is over', () => {
      clock.advance(stage === 'first_byte' ? 50 : 1);
      return clock.pending === 0;
    });
    await answer;
    await until('the connection is closed', () => given.target.open() === 0);
  });

  it('leave no timer behind', async () => {
    const clock = new ManualClock();
    await given.ask({}, { clock });
    expect(clock.pending).toBe(0);
  });

  it("end with the caller's signal and its reason", async () => {
    const stop = new AbortController();
    given.handler = () => {
      stop.abort(new Error('enough'));
    };
    await expect(given.ask({ signal: stop.signal })).rejects.toThrow('enough');
    await expect(given.ask({ signal: stop.signal })).rejects.toThrow('enough');
    expect(given.target.requests).toHaveLength(1);
  });
});
