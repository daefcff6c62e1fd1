import { EventEmitter } from 'node:events';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';

import { describe, expect, it } from '@jest/globals';
import type { Request, Response } from 'express';

import { ManualClock } from '../../clock.js';
import { CallerTurns } from './caller-turns.js';
import { drainRestMiddleware } from './drain-rest.js';

const partBytes = 262_144;

describe('drainRestMiddleware', () => {
  /** A request whose response is sent before its body has arrived. */
  const refuse = () => {
    const clock = new ManualClock();
    const turns = new CallerTurns(clock);
    const socket = new Socket();
    const request = new IncomingMessage(socket) as Request; // what the middleware reads
    const response = Object.assign(new EventEmitter(), { statusCode: 413 }) as unknown as Response;
    drainRestMiddleware(turns, clock)(request, response, () => undefined);
    response.emit('prefinish');
    const send = async (parts: number) => {
      for (let i = 0; i < parts; i++) request.push(Buffer.alloc(partBytes));
      await nextTurn();
    };
    return { clock, turns, socket, request, send };
  };

  it('reads the rest in parts, at the rate of one caller', async () => {
    const { clock, turns, socket, request, send } = refuse();
    await send(60);
    for (let i = 0; i < 55; i++) {
      clock.advance(1);
      await nextTurn();
    }
    expect([turns.size, request.isPaused()]).toEqual([1, true]);
    for (let i = 0; i < 10; i++) {
      clock.advance(10);
      await nextTurn();
    }
    expect([turns.size, request.isPaused(), socket.destroyed]).toEqual([0, false, false]);
    socket.destroy();
  });

  it('disconnects a client that takes five seconds to send the unread body, in any number of chunks', async () => {
    const { clock, socket, send } = refuse();
    for (let i = 0; i < 4; i++) {
      clock.advance(1_200);
      await send(1);
      clock.advance(1);
      await nextTurn();
    }
    expect(socket.destroyed).toBe(false);
    clock.advance(1_200);
    expect(socket.destroyed).toBe(true);
  });

  it('stops reading after 16 MB and disconnects later', async () => {
    const { clock, socket, request, send } = refuse();
    await send(70);
    for (let i = 0; i < 400; i++) {
      clock.advance(10);
      await nextTurn();
    }
    expect([request.isPaused(), socket.destroyed]).toEqual([true, false]);
    clock.advance(5_000);
    expect(socket.destroyed).toBe(true);
  });
});
