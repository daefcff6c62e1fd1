import type { IncomingMessage } from 'node:http';

import { systemClock } from '../../clock.js';
import { bodyAborted, bodyTimedOut } from '../errors/http.errors.js';

/** A client that sends no byte for this long is disconnected or attacks the server. */
const IDLE_MS = 10_000;

/**
 * Gives each piece of the body to `onBytes` as it arrives. Rejects with what `onBytes` throws, at once and leaving the rest unread;
 * with `body_timeout` after `withinMs`, or 10 s without a byte; and when the client closes the connection.
 */
export function readBytes(request: IncomingMessage, onBytes: (bytes: Buffer) => void, withinMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) => {
      stop();
      request.pause();
      reject(error instanceof Error ? error : new Error(String(error)));
    };
    const timeOut = () => {
      fail(bodyTimedOut());
    };
    const deadline = systemClock.after(withinMs, timeOut);
    let idle = systemClock.after(IDLE_MS, timeOut);
    const onData = (bytes: Buffer) => {
      idle.cancel();
      idle = systemClock.after(IDLE_MS, timeOut);
      try {
        onBytes(bytes);
      } catch (error) {
        fail(error);
      }
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
      request.off('data', onData).off('end', onEnd).off('error', onClose).off('close', onClose);
    };
    request.on('data', onData).on('end', onEnd).on('error', onClose).on('close', onClose);
  });
}
