import type { ScopeView } from '../nodes/node-executor.js';
import type { NodeKey, NodeRunRow } from './node-run.js';
import type { RunCommand } from './run-command.js';
import type { RunEvent } from './run-event.js';
import type { RunPlan } from './run-plan.js';

/**
 * A run of a workflow: takes what happened, says what is to be done. No clock, no chance, no I/O. What it knows is never
 * written whole: from the same plan and the stored rows it is made again.
 */
export class WorkflowRun {
  constructor(readonly plan: RunPlan) {}

  /** Begins it; given the rows of an earlier life, goes on where that one ended. To be called once, before any event but `exhausted`. */
  start(rows: readonly NodeRunRow[] = []): readonly RunCommand[] {
    throw new Error(`not there yet: ${rows.length}`);
  }

  handle(event: RunEvent): readonly RunCommand[] {
    throw new Error(`not there yet: ${event.type}`);
  }

  /** Nothing works, and nothing more can be handed out before something from outside happens. */
  get resting(): boolean {
    return false;
  }

  /** Nodes executed so far, those of an earlier life included. */
  get steps(): number {
    return 0;
  }

  /** What a node run at work sees; of a loop that is deciding: what its next pass would see. Undefined when it is not at work. */
  viewOf(key: NodeKey): ScopeView | undefined {
    throw new Error(`not there yet: ${key.nodeId}`);
  }
}
