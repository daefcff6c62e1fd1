import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { runCalls, type RunCallsPorts } from './run-calls.js';

const ports = (changes: Partial<RunCallsPorts<number, string>> = {}): RunCallsPorts<number, string> => ({
  concurrency: 2,
  start: () => Promise.resolve('started'),
  execute: (call) => Promise.resolve(`did ${call}`),
  settled: () => Promise.resolve(),
  ...changes,
});

describe('runCalls', () => {
  it('returns the outcomes in the order of the calls and keeps the concurrency limit', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat(5), { maxLength: 30 }),
        fc.integer({ min: 1, max: 8 }),
        async (turns, concurrency) => {
          let running = 0;
          let most = 0;
          const execute = async (call: number): Promise<string> => {
            most = Math.max(most, ++running);
            for (let turn = turns[call] ?? 0; turn > 0; turn--) await Promise.resolve();
            running--;
            return String(call);
          };
          const calls = turns.map((_, index) => index);
          expect(await runCalls(calls, ports({ concurrency, execute }))).toEqual(calls.map(String));
          expect(most).toBeLessThanOrEqual(concurrency);
        },
      ),
    );
  });

  it('does not run a call that was settled meanwhile', async () => {
    const start = (call: number): Promise<'settled' | 'started'> => Promise.resolve(call === 2 ? 'settled' : 'started');
    expect(await runCalls([1, 2, 3], ports({ start }))).toEqual(['did 1', null, 'did 3']);
  });

  it('starts no further call after a start was refused', async () => {
    const asked: number[] = [];
    const start = (call: number): Promise<'refused' | 'started'> => {
      asked.push(call);
      return Promise.resolve(call === 2 ? 'refused' : 'started');
    };
    expect(await runCalls([1, 2, 3, 4], ports({ concurrency: 1, start }))).toEqual(['did 1', null, null, null]);
    expect(asked).toEqual([1, 2]);
  });

  it('awaits running calls before it throws an error', async () => {
    const slow = Promise.withResolvers<string>();
    const ended: number[] = [];
    const started: number[] = [];
    const run = runCalls(
      [1, 2, 3, 4],
      ports({
        start: (call) => {
          started.push(call);
          return Promise.resolve('started');
        },
        execute: (call) => (call === 1 ? slow.promise : Promise.resolve('')),
        settled: (call) => {
          if (call === 2) return Promise.reject(new Error('lease lost'));
          ended.push(call);
          return Promise.resolve();
        },
      }),
    );
    let isOver = false;
    const over = run.catch((error: unknown) => {
      isOver = true;
      return String(error);
    });
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
    expect([isOver, started]).toEqual([false, [1, 2]]);
    slow.resolve('late');
    expect(await over).toBe('Error: lease lost');
    expect(ended).toEqual([1]);
  });

  it('returns at once without calls', async () => {
    expect(await runCalls([], ports())).toEqual([]);
  });
});
