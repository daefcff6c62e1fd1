import type { NextFunction, Request, Response } from 'express';

import type { ReadTurns } from './read-turns.js';

/** How much of a body is read and thrown away after the response, and how long the client may take for the part that a turn reads. */
const MOST_BYTES = 16 * 1_048_576;
/** For unauthenticated callers: enough for a small request, so that its client can read the error. */
const MOST_BYTES_ANONYMOUS = 1_048_576;
const WITHIN_MS = 2_000;

/** The caller in whose name all rests are read. */
const DRAINS = 'drain';
/** Bytes that are thrown away cost less than bytes that are scanned and kept. */
const BYTES_PER_TURN = 8 * 65_536;

const anonymous = new Set([401, 403, 404]);

/**
 * The server may respond before the request is complete: with an error, or on a route without a body. Node would then read the rest without
 * a limit, or, with `Connection: close`, reset the connection while the client still writes, and clients such as undici would report
 * ECONNRESET instead of the response. So a bounded part of the rest is read after the response; then the connection stays open, unread,
 * until the client closes it or a timeout ends it ("lingering close"). All these rests together take the turns of one caller: they do not delay
 * bodies that are still wanted.
 */
export function drainRestMiddleware(turns: ReadTurns) {
  return (request: Request, response: Response, next: NextFunction): void => {
    // At `finish` Node has already begun to discard the body.
    response.once('prefinish', () => {
      if (!request.complete && !request.destroyed) drain(request, mostBytesOf(response.statusCode), turns);
    });
    next();
  };
}

function mostBytesOf(status: number): number {
  return anonymous.has(status) ? MOST_BYTES_ANONYMOUS : MOST_BYTES;
}

function drain(request: Request, mostBytes: number, turns: ReadTurns): void {
  const { socket } = request;
  let bytes = 0;
  let inTurn = 0;
  let withdraw: (() => void) | undefined;
  let timer: NodeJS.Timeout | undefined;
  const restartTimer = () => {
    clearTimeout(timer);
    timer = setTimeout(() => socket.destroy(), WITHIN_MS);
  };
  const stop = () => {
    clearTimeout(timer);
    withdraw?.();
    // The connection may serve thousands of requests more; a listener of each would keep each request in memory.
    socket.off('close', stop);
  };
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    inTurn += chunk.length;
    if (bytes <= mostBytes && inTurn < BYTES_PER_TURN) return;
    request.pause();
    inTurn = 0;
    if (bytes > mostBytes) return;
    clearTimeout(timer); // the wait for a turn does not count against the client
    withdraw = turns.next(DRAINS, () => {
      restartTimer();
      request.resume();
    });
  });
  request.once('end', stop).once('error', stop);
  socket.once('close', stop);
  restartTimer();
  request.read(0); // marks the body as in use, so that Node leaves it alone
  request.resume();
}
