import type { NextFunction, Request, Response } from 'express';

import type { Clock, Timer } from '../../clock.js';
import type { CallerTurns } from './caller-turns.js';

/** Maximum bytes of a body that are read and discarded after the response. */
const MAX_BYTES = 16 * 1_048_576;
/** For unauthenticated callers: enough for a small request, so that its client can read the error. */
const MAX_BYTES_ANONYMOUS = 1_048_576;
const WITHIN_MS = 5_000;

/** The name under which all of these reads share turns. */
const DRAINS = 'drain';
/** Reading this much from a connection takes some 1 ms, although the bytes are discarded. */
const BYTES_PER_TURN = 4 * 65_536;
const TURN_MS = 1;

const anonymous = new Set([401, 403, 404]);

/**
 * The server may respond before the request is complete: with an error, or on a route without a body. Node would then read the rest without a
 * limit, or, with `Connection: close`, reset the connection while the client still writes, and clients such as undici would report ECONNRESET
 * instead of the response. So a bounded part of the rest is read after the response. Then the connection stays open, unread, until the client
 * closes it or a timeout ends it ("lingering close"). All these reads share the turns of one caller, so they do not delay the bodies of other
 * requests.
 */
export function drainRestMiddleware(turns: CallerTurns, clock: Clock) {
  return (request: Request, response: Response, next: NextFunction): void => {
    // At `finish`, Node has already begun to discard the body.
    response.once('prefinish', () => {
      if (!request.complete && !request.destroyed)
        drain(request, { maxBytes: maxBytesOf(response.statusCode), turns, clock });
    });
    next();
  };
}

function maxBytesOf(status: number): number {
  return anonymous.has(status) ? MAX_BYTES_ANONYMOUS : MAX_BYTES;
}

interface Draining {
  readonly maxBytes: number;
  readonly turns: CallerTurns;
  readonly clock: Clock;
}

function drain(request: Request, { maxBytes, turns, clock }: Draining): void {
  const { socket } = request;
  let bytes = 0;
  let inTurn = 0;
  let withdraw: (() => void) | undefined;
  let timer: Timer | undefined;
  let leftMs = WITHIN_MS;
  let startedAt = 0;
  const startTimer = () => {
    startedAt = clock.monotonic();
    timer = clock.after(leftMs, () => socket.destroy());
  };
  const stopTimer = () => {
    leftMs -= clock.monotonic() - startedAt;
    timer?.cancel();
  };
  const stop = () => {
    timer?.cancel();
    withdraw?.();
    // The connection may serve thousands of further requests. If their listeners remained, memory would hold each request.
    socket.off('close', stop);
  };
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    inTurn += chunk.length;
    if (bytes <= maxBytes && inTurn < BYTES_PER_TURN) return;
    request.pause();
    inTurn = 0;
    if (bytes > maxBytes) return;
    stopTimer(); // the wait for a turn does not count against the client
    withdraw = turns.next(DRAINS, TURN_MS, () => {
      startTimer();
      request.resume();
    });
  });
  request.once('end', stop).once('error', stop);
  socket.once('close', stop);
  startTimer();
  request.read(0); // marks the body as in use, so that Node leaves it alone
  request.resume();
}
