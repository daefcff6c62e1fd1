import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';

import { describe, expect, it } from '@jest/globals';

import { ManualClock } from '../../clock.js';
import { CallerTurns } from './caller-turns.js';
import { readBytes } from './read-bytes.js';

const partBytes = 262_144;

describe('readBytes', () => {
  const open = () => {
    const clock = new ManualClock();
    const turns = new CallerTurns(clock);
    const send = (caller: string, pieces: number, bytes = partBytes) => {
      const request = new IncomingMessage(new Socket());
      const body = { request, pieces: 0, done: Promise.resolve() };
      for (let i = 0; i < pieces; i++) request.push(Buffer.alloc(bytes, ' '));
      request.push(null);
      const onBytes = () => void (body.pieces += 1);
      body.done = readBytes(request, { onBytes, withinMs: 60_000, turns, caller });
      return body;
    };
    return { clock, turns, send };
  };

  it('reads a small body without waiting for a slot', async () => {
    const { turns, send } = open();
    const body = send('a', 3, 65_536);
    await body.done;
    expect([body.pieces, turns.size]).toEqual([3, 0]);
  });

  it('reads a large body in parts, alternately with a body of another caller', async () => {
    const { clock, send } = open();
    const many = [send('a', 4), send('a', 4), send('a', 4)];
    const one = send('b', 4);
    await nextTurn();
    const counts = () => [...many, one].map(({ pieces }) => pieces);
    expect(counts()).toEqual([1, 1, 1, 1]);
    for (let i = 0; i < 4; i++) {
      clock.advance(1);
      await nextTurn();
    }
    expect(counts()).toEqual([2, 2, 1, 3]);
    for (let i = 0; i < 14; i++) {
      clock.advance(1);
      await nextTurn();
    }
    await Promise.all([...many, one].map(({ done }) => done));
    expect(counts()).toEqual([4, 4, 4, 4]);
  });

  it('releases its waiting slot when the client closes the connection', async () => {
    const { turns, send } = open();
    const { request, done } = send('a', 4);
    await nextTurn();
    expect(turns.size).toBe(1);
    request.destroy();
    await expect(done).rejects.toMatchObject({ code: expect.any(String) });
    expect(turns.size).toBe(0);
  });
});
