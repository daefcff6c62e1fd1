import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';

import { ModelError } from '../model/models.errors.js';
import { ProviderBreaker } from './provider-breaker.js';

const options = { failures: 3, pauseMs: 1_000, maxPauseMs: 60_000 };
const down = (retryAfterSeconds?: number) =>
  new ModelError({
    ...{ code: 'model_unavailable', message: 'Down.', retryable: true, afterFirstByte: false },
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  });
const refused = new ModelError({ code: 'model_bad_request', message: 'No.', retryable: false, afterFirstByte: false });

let now: number;
let time: { mockRestore(): unknown };

beforeEach(() => {
  now = 1_000_000;
  time = jest.spyOn(Date, 'now').mockImplementation(() => now);
});
afterEach(() => {
  time.mockRestore();
});

/** Counts requests that were sent; each fails with `failure`, or gives 'ok'. */
function provider(failure: () => Error | null) {
  const breaker = new ProviderBreaker(options);
  const sent = { count: 0 };
  const request = () => {
    sent.count++;
    const error = failure();
    return error === null ? Promise.resolve('ok') : Promise.reject(error);
  };
  const ask = () => breaker.run(request).catch((error: unknown) => error);
  return { breaker, sent, request, ask };
}

describe('ProviderBreaker', () => {
  it('opens after consecutive failures, rejects further requests, and reports the time to the next attempt', async () => {
    const { sent, ask } = provider(() => down());
    for (let i = 0; i < 3; i++) await ask();
    now += 400;
    expect(await ask()).toMatchObject({
      ...{ code: 'model_unavailable', isPaused: true, retryable: true, retryAfterSeconds: 0.6 },
      message: expect.stringContaining('paused'),
    });
    expect(sent.count).toBe(3);
  });

  it('sends one probe after the pause, doubles the pause when it fails, and closes when it succeeds', async () => {
    let failure: Error | null = down();
    const { breaker, sent, ask } = provider(() => failure);
    for (let i = 0; i < 3; i++) await ask();
    now += 1_000;
    await ask();
    expect(sent.count).toBe(4);
    now += 1_000;
    expect(await ask()).toMatchObject({ isPaused: true, retryAfterSeconds: 1 });
    now += 1_000;
    failure = null;
    expect(await ask()).toBe('ok');
    expect([breaker.isClosed, sent.count]).toEqual([true, 5]);
  });

  it('rejects other requests at once with a growing pause while its probe has no outcome', async () => {
    const outcome = Promise.withResolvers<string>();
    let isProbe = false;
    const { breaker, sent, ask } = provider(() => down(2));
    for (let i = 0; i < 3; i++) await ask();
    now += 2_000;
    const probe = breaker.run(() => {
      isProbe = true;
      return outcome.promise;
    });
    expect(isProbe).toBe(true);
    expect(await ask()).toMatchObject({ isPaused: true, isProbed: true, retryAfterSeconds: 2 });
    now += 30_000;
    expect(await ask()).toMatchObject({ isPaused: true, retryAfterSeconds: 30 });
    now += 300_000;
    expect(await ask()).toMatchObject({ isPaused: true, retryAfterSeconds: 60 });
    expect(sent.count).toBe(3);
    outcome.resolve('ok');
    expect([await probe, breaker.isClosed]).toEqual(['ok', true]);
  });

  it('keeps the text of the provider out of the error for paused requests', async () => {
    const { ask } = provider(() => down());
    for (let i = 0; i < 3; i++) await ask();
    expect(await ask()).toMatchObject({ code: 'model_unavailable', message: expect.not.stringContaining('Down.') });
  });

  it('pauses for Retry-After, but at most a minute', async () => {
    const { ask } = provider(() => down(20));
    for (let i = 0; i < 3; i++) await ask();
    expect(await ask()).toMatchObject({ retryAfterSeconds: 20 });
    const long = provider(() => down(3_600));
    for (let i = 0; i < 3; i++) await long.ask();
    expect(await long.ask()).toMatchObject({ retryAfterSeconds: 60 });
  });

  it('does not open for 4xx failures of a working provider or for aborted requests', async () => {
    for (const failure of [refused, new Error('aborted')]) {
      const { breaker, sent, ask } = provider(() => failure);
      for (let i = 0; i < 10; i++) await ask();
      expect([breaker.isClosed, sent.count]).toEqual([true, 10]);
    }
  });

  it('sends a request that a person requested while open, and closes when it succeeds', async () => {
    let failure: Error | null = down();
    const { breaker, request, ask } = provider(() => failure);
    for (let i = 0; i < 3; i++) await ask();
    await expect(breaker.runAnyway(request)).rejects.toMatchObject({ isPaused: false });
    expect(breaker.isClosed).toBe(false);
    failure = null;
    expect([await breaker.runAnyway(request), breaker.isClosed]).toEqual(['ok', true]);
  });
});
