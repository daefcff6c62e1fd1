import { Injectable } from '@nestjs/common';

import { buildWorkflowState } from './build-workflow-state.js';
import { RunStateRepository } from './run-state.repository.js';
import type { WorkflowState } from './workflow-state.js';

/** Shows workflow jobs in the words of the OR3 protocol. */
@Injectable()
export class WorkflowStateReader {
  constructor(private readonly states: RunStateRepository) {}

  /** The caller has checked the right to read. Null: no such workflow job in the workspace. */
  async read(workspaceId: string, jobId: string): Promise<WorkflowState | null> {
    const state = await this.states.read(workspaceId, jobId);
    return state === null ? null : buildWorkflowState(state);
  }
}
