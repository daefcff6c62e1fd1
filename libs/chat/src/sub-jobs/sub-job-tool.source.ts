import { Injectable } from '@nestjs/common';

import { Config } from '#platform';
import { type Tool, ToolCatalog, type WorkspaceToolSource } from '#tools';

import { StartedJobs } from './started-jobs.service.js';
import { subJobTools } from './sub-job-tools.js';

/** Adds the tools that start sub-jobs to the catalog, if the operator enabled them. */
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
