import { Injectable } from '@nestjs/common';

import { type Tool, ToolCatalog, type WorkspaceToolSource } from '#tools';

import { VersionsInUse } from '../definitions/versions-in-use.js';
import { OfferedWorkflowsRepository } from './offered-workflows.repository.js';
import { WorkflowCalls } from './workflow-calls.service.js';
import { workflowTools } from './workflow-tool.js';

const maxOffered = 100;

/** Gives the catalog the workflows of a workspace that models may call, as they are published. */
@Injectable()
export class WorkflowToolSource implements WorkspaceToolSource {
  readonly name = 'workflow';

  constructor(
    private readonly offered: OfferedWorkflowsRepository,
    private readonly versions: VersionsInUse,
    private readonly calls: WorkflowCalls,
    catalog: ToolCatalog,
  ) {
    catalog.addSource(this);
  }

  async toolsOf(workspaceId: string): Promise<readonly Tool[]> {
    const refs = await this.offered.offered(workspaceId, maxOffered);
    if (refs.length === 0) return [];
    const versions = await this.versions.load(workspaceId, refs);
    const workflows = refs.flatMap((ref, i) => {
      const version = versions[i];
      return version === undefined ? [] : [{ ...ref, meta: version.meta }];
    });
    return workflowTools(workflows, (workflow, input, context) => this.calls.start(workflow, input, context));
  }
}
