import { EventEmitter } from 'node:events';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';

import { describe, expect, it } from '@jest/globals';
import type { Request, Response } from 'express';

import { ManualClock } from '../../clock.js';
import { CallerTurns } from './caller-turns.js';
import { bodyMiddleware, readBody } from './read-body.js';

const settings = { MAX_BODY_BYTES: 4_194_304, MAX_BODY_TOKENS: 100_000, BODY_TIMEOUT_MS: 60_000 };

describe('readBody', () => {
  const open = () => {
    const clock = new ManualClock();
    const turns = new CallerTurns(clock);
    const middleware = bodyMiddleware(settings, turns);
    /** Sends a list of `tokens` JSON tokens. */
    const send = async (caller: string, tokens: number) => {
      const request = new IncomingMessage(new Socket()) as Request; // what the middleware reads
      const response = new EventEmitter();
      Object.assign(request, { method: 'POST', url: '/api/jobs', is: () => 'application/json' });
      request.headers = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' };
      request.push(`[0${',0'.repeat(tokens - 1)}]`);
      request.push(null);
      middleware(request, response as Response, () => undefined);
      const done = readBody(request, caller);
      done.catch(() => undefined); // asserted by the test
      await nextTurn();
      return { request, response, done, isRead: () => request.body !== undefined };
    };
    return { clock, turns, send };
  };

  it('lets the caller of many bodies with many tokens wait, and no other', async () => {
    const { clock, turns, send } = open();
    const many = [await send('many', 60_000), await send('many', 60_000)];
    const [one, small] = [await send('one', 60_000), await send('many', 999)];
    expect([...many, one, small].map(({ isRead }) => isRead())).toEqual([true, false, true, true]);
    clock.advance(100);
    await nextTurn();
    expect([many[1]?.isRead(), turns.size]).toEqual([true, 0]);
  });

  it('withdraws the turn of a client that disconnects', async () => {
    const { turns, send } = open();
    await send('many', 60_000);
    const { response, done, isRead } = await send('many', 60_000);
    expect(turns.size).toBe(1);
    response.emit('close');
    await expect(done).rejects.toMatchObject({ message: 'The request was aborted' });
    expect([turns.size, isRead()]).toEqual([0, false]);
  });
});
