import type { IncomingMessage } from 'node:http';

import { systemClock } from '../../clock.js';
import { bodyAborted, bodyTimedOut } from '../errors/http.errors.js';
import type { CallerTurns } from './caller-turns.js';

/** A client that sends no byte for this long, in ms, is disconnected or attacks the server. */
const IDLE_MS = 10_000;
/** Smaller bodies are read as they arrive. Reading, scanning and storing this much takes some 1 ms. */
const PART_BYTES = 262_144;
const PART_MS = 1;

/** The options of reading a body. */
export interface BodyReading {
  /** Receives each piece as it arrives. If it throws, the rest stays unread. */
  readonly onBytes: (bytes: Buffer) => void;
  readonly withinMs: number;
  /** After each 256 KiB, the body waits for a slot of `caller`. */
  readonly turns: CallerTurns;
  readonly caller: string;
}

/**
 * Reads a body to its end. Rejects at once with the error of `onBytes` (the rest stays unread), with `body_timeout` after `withinMs` or
 * after 10 s without a byte, or when the client disconnects.
 */
export function readBytes(request: IncomingMessage, { onBytes, withinMs, turns, caller }: BodyReading): Promise<void> {
  return new Promise((resolve, reject) => {
    let partBytes = 0;
    let withdraw: (() => void) | undefined;
    const fail = (error: unknown) => {
      stop();
      request.pause();
      reject(error instanceof Error ? error : new Error(String(error)));
    };
    const timeOut = () => {
      fail(bodyTimedOut());
    };
    const deadline = systemClock.after(withinMs, timeOut);
    const idle = startIdleTimer(timeOut);
    const onData = (bytes: Buffer) => {
      idle.restart();
      partBytes += bytes.length;
      try {
        onBytes(bytes);
        if (partBytes >= PART_BYTES) awaitSlot();
      } catch (error) {
        fail(error);
      }
    };
    const awaitSlot = () => {
      partBytes = 0;
      idle.cancel(); // while the body waits for a slot, the client cannot send
      request.pause();
      withdraw = turns.next(caller, PART_MS, () => {
        idle.restart();
        request.resume();
      });
    };
    const onEnd = () => {
      stop();
      resolve();
    };
    const onClose = () => {
      fail(bodyAborted());
    };
    const stop = () => {
      deadline.cancel();
      idle.cancel();
      withdraw?.();
      request.off('data', onData).off('end', onEnd).off('error', onClose).off('close', onClose);
    };
    request.on('data', onData).on('end', onEnd).on('error', onClose).on('close', onClose);
  });
}

function startIdleTimer(run: () => void) {
  let timer = systemClock.after(IDLE_MS, run);
  const cancel = () => {
    timer.cancel();
  };
  const restart = () => {
    cancel();
    timer = systemClock.after(IDLE_MS, run);
  };
  return { cancel, restart };
}
