import { ResolveField, Resolver } from '@nestjs/graphql';

import type { Job } from '#jobs';
import type { ToolCallRecord } from '#tools';

import { listCost } from '../graphql/connections/to-page.js';
import type { GraphqlContext } from '../graphql/graphql-context.js';
import { ToolCall } from '../tool-calls/tool-call.model.js';
import { JobModel } from './job.model.js';

/** Jobs above and below a job. */
@Resolver(() => JobModel)
export class JobLineResolver {
  @ResolveField(() => JobModel, {
    nullable: true,
    description: 'For a sub-job: its parent. Null if the parent was removed.',
  })
  parent({ parentJobId }: Job, _: unknown, { loaders }: GraphqlContext): Promise<Job | null> | null {
    return parentJobId === null ? null : loaders.jobs.load(parentJobId);
  }

  @ResolveField(() => [JobModel], {
    description: 'Jobs started by its tool calls, oldest first, at most 100.',
    complexity: listCost(10),
  })
  async subJobs({ id }: Job, _: unknown, { loaders }: GraphqlContext): Promise<readonly Job[]> {
    return (await loaders.subJobsOfJob.load(id)).slice(0, 100);
  }
}

/** The job that a tool call has become. */
@Resolver(() => ToolCall)
export class ToolCallSubJobResolver {
  @ResolveField(() => JobModel, {
    nullable: true,
    description: 'For a workflow as a tool: the job that the call started.',
  })
  async subJob({ id, jobId }: ToolCallRecord, _: unknown, { loaders }: GraphqlContext): Promise<Job | null> {
    const below = await loaders.subJobsOfJob.load(jobId);
    return below.find(({ parentCallId }) => parentCallId === id) ?? null;
  }
}
