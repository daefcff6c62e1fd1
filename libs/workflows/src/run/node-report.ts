import type { Waiting } from '../engine/node-executor.js';
import type { RunEvent } from '../engine/run-event.js';

/** The outcome of a piece of work for one node run. `waits`: the ids it waits for. */
export interface Report {
  readonly event: RunEvent;
  readonly waits?: Waiting;
}
