import { BackOff } from './back-off.js';
import { type Connection, until } from './connection.js';
import { NightshiftError } from './nightshift-error.js';
import type { TypedDocument } from './typed-document.js';

export interface Subscribing<TVariables> {
  /** Called before each attempt, so that the variables can continue after the last event that was read. */
  readonly variables: () => TVariables;
  readonly signal: AbortSignal | undefined;
}

/**
 * A subscription that restarts after a lost connection, and when its reader falls too far behind, until the server completes it. Waits
 * longer after each consecutive failure; requests a new token once if the server rejects the current one.
 */
export async function* resubscribe<TResult, TVariables extends object>(
  connection: Connection,
  document: TypedDocument<TResult, TVariables>,
  { variables, signal: given }: Subscribing<TVariables>,
): AsyncGenerator<TResult, void, undefined> {
  const { sockets } = connection;
  const signal = until(connection, given);
  const backOff = new BackOff(connection.backOff);
  let isRefused = false;
  for (;;) {
    try {
      for await (const data of sockets.subscribe(document, variables(), signal)) {
        backOff.succeed();
        isRefused = false;
        yield data;
      }
      return;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof NightshiftError)) throw error;
      if (error.code === 'unauthenticated' && !isRefused && sockets.refuseToken()) {
        isRefused = true;
        continue;
      }
      if (!error.retryable) throw error;
      isRefused = false;
      if (error.code !== 'fell_behind') await backOff.next(error, { signal, atLeastMs: error.retryAfterMs ?? 0 });
    }
  }
}
