import { isTerminal } from '#jobs';
import { projectResult } from '#tools';

import { isFinished } from '../engine/node-run.js';
import type { RunState, ShownRun } from './run-state.repository.js';

/** The shortened texts of a node run. */
export function outputOf({ output, outputBytes }: ShownRun): string {
  return projectResult(output ?? '', 'ui', outputBytes ?? undefined);
}

/** The node's input; null if it was not loaded. */
export function inputOf({ input, inputBytes }: ShownRun): string | null {
  return input === null ? null : projectResult(input, 'ui', inputBytes ?? undefined);
}

/** Whether the node run is unfinished and its job has not ended. */
export function isAtWork({ status }: Pick<ShownRun, 'status'>, job: Pick<RunState, 'status'>): boolean {
  return !isFinished(status) && !isTerminal(job.status);
}

/** Whether the node is on the top level of the workflow. */
export function isOnTop({ path, iteration }: Pick<ShownRun, 'path' | 'iteration'>): boolean {
  return path.length === 0 && iteration.length === 0;
}
