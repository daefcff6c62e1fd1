import { Injectable } from '@nestjs/common';

import { Config } from '#platform';
import { type Tool, ToolCatalog, type WorkspaceToolSource } from '#tools';

import { StartedJobs } from './started-jobs.service.js';
import { subJobTools } from './sub-job-tools.js';

/** Gives the catalog the tools that start jobs, where the operator lets models do that. */
@Injectable()
export class SubJobToolSource implements WorkspaceToolSource {
  readonly name = 'sub-jobs';

  constructor(
    private readonly jobs: StartedJobs,
    private readonly config: Config,
    catalog: ToolCatalog,
  ) {
    catalog.addSource(this);
  }

  toolsOf(workspaceId: string): Promise<readonly Tool[]> {
    return Promise.resolve(this.config.values.FEATURE_SUB_JOBS ? subJobTools(workspaceId, this.jobs) : []);
  }
}
