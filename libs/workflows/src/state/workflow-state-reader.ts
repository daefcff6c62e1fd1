import { Injectable } from '@nestjs/common';

import { toGraph, type WorkflowGraph } from '../definition/graph.js';
import { DefinitionsRepository } from '../definitions/definitions.repository.js';
import { readDocument } from '../definitions/read-definition.js';
import { hasUnpublishedBranches } from './branches-of.js';
import { buildWorkflowState } from './build-workflow-state.js';
import { type RunState, RunStateRepository } from './run-state.repository.js';
import type { WorkflowState } from './workflow-state.js';

/** Presents workflow jobs in the format of the OR3 protocol. */
@Injectable()
export class WorkflowStateReader {
  constructor(
    private readonly states: RunStateRepository,
    private readonly definitions: DefinitionsRepository,
  ) {}

  /** The caller has checked the right to read. Null: no such workflow job in the workspace. */
  async read(workspaceId: string, jobId: string): Promise<WorkflowState | null> {
    const state = await this.states.read(workspaceId, jobId);
    if (state === null) return null;
    return buildWorkflowState(state, needsGraph(state) ? await this.graphOf(workspaceId, state) : null);
  }

  private async graphOf(workspaceId: string, { workflowId, workflowVersion }: RunState): Promise<WorkflowGraph | null> {
    if (workflowId === null || workflowVersion === null) return null;
    const [stored] = await this.definitions.pinned(workspaceId, [{ id: workflowId, version: workflowVersion }]);
    return stored === undefined ? null : toGraph(readDocument(stored.definition));
  }
}

/** Facts that the rows do not contain: the nodes that would have run next, and the labels of branches that an earlier job executed. */
function needsGraph(state: RunState): boolean {
  return state.status === 'failed' || state.status === 'cancelled' || hasUnpublishedBranches(state);
}
