import { Injectable } from '@nestjs/common';
import { z } from 'zod';

import { Config } from '#platform';
import { defineTool, type Tool, ToolCatalog, type WorkspaceToolSource } from '#tools';

import { StartedJobs } from './started-jobs.service.js';
import { startJob } from './sub-job-names.js';

const longestPrompt = 20_000;
/** Longer than the 8 s for which `result` waits for a running job. */
const timeoutMs = 30_000;

/** The tools by which models start sub-jobs and read their results. */
function subJobTools(workspaceId: string, jobs: Pick<StartedJobs, 'start' | 'list' | 'result'>): readonly Tool[] {
  return [
    defineTool({
      name: startJob,
      description:
        'Starts a job in the background and returns its handle at once, never its answer. The job has a conversation of its own: the prompt has to say everything it needs to know. Ask for its answer with job_result.',
      input: z.object({
        workspace: z.literal(workspaceId).describe('The workspace to work in'),
        model: z.string().min(1).max(200).describe('Name of the model that does the job'),
        prompt: z.string().trim().min(1).max(longestPrompt).describe('What is to be done, in full'),
      }),
      runtime: 'server',
      workerOnly: true,
      // The call's idempotency key starts one job in all attempts.
      effect: 'idempotent',
      timeoutMs,
      execute: ({ model, prompt }, context) => jobs.start({ model, prompt }, context),
    }),
    defineTool({
      name: 'get_jobs',
      description: 'Lists the jobs that were started with start_job in this conversation, newest first.',
      input: z.object({}),
      runtime: 'server',
      workerOnly: true,
      effect: 'pure',
      repeatable: true,
      execute: async (_, context) => ({ jobs: await jobs.list(context) }),
    }),
    defineTool({
      name: 'job_result',
      description:
        'Returns the state of a job that was started with start_job, and its answer once it is completed. Waits a few seconds for a running job.',
      input: z.object({ job_id: z.string().max(64).describe('job_id of its handle') }),
      runtime: 'server',
      workerOnly: true,
      effect: 'pure',
      repeatable: true,
      timeoutMs,
      execute: ({ job_id: jobId }, context) => jobs.result(jobId, context),
    }),
  ];
}

/** Adds the tools that start sub-jobs to the catalog, if the operator has enabled them. */
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
