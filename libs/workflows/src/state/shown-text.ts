import { isTerminal } from '#jobs';
import { projectResult } from '#tools';

import { isFinished } from '../engine/node-run.js';
import type { RunState, ShownRun } from './run-state.repository.js';

/** What a node run gave, at the size of a screen. */
export function outputOf({ output, outputBytes }: ShownRun): string {
  return projectResult(output ?? '', 'ui', outputBytes ?? undefined);
}

/** The node's input; null if it was not loaded. */
export function inputOf({ input, inputBytes }: ShownRun): string | null {
  return input === null ? null : projectResult(input, 'ui', inputBytes ?? undefined);
}

/** Whether it has neither ended nor been left behind by the end of its job. */
export function isAtWork({ status }: Pick<ShownRun, 'status'>, job: Pick<RunState, 'status'>): boolean {
  return !isFinished(status) && !isTerminal(job.status);
}

/** On the top of the workflow, inside of nothing. */
export function isOnTop({ path, iteration }: Pick<ShownRun, 'path' | 'iteration'>): boolean {
  return path.length === 0 && iteration.length === 0;
}
