import { ResolveField, Resolver } from '@nestjs/graphql';

import type { Job } from '#jobs';
import type { ToolCallRecord } from '#tools';

import { listCost } from '../graphql/connections/to-page.js';
import type { GraphqlContext } from '../graphql/graphql-context.js';
import { JobModel } from '../jobs/job.model.js';
import { ToolCall } from './tool-call.model.js';

/** The tool calls of a job. */
@Resolver(() => JobModel)
export class JobToolCallsResolver {
  @ResolveField(() => [ToolCall], {
    description: "Its tool calls, in the order of the model's requests.",
    complexity: listCost(20),
  })
  toolCalls({ id }: Job, _: unknown, { loaders }: GraphqlContext): Promise<readonly ToolCallRecord[]> {
    return loaders.toolCallsOfJob.load(id);
  }
}

/** The job that a tool call started. */
@Resolver(() => ToolCall)
export class ToolCallSubJobResolver {
  @ResolveField(() => JobModel, {
    nullable: true,
    description: 'For a workflow as a tool: the job that the call started.',
  })
  async subJob({ id, jobId }: ToolCallRecord, _: unknown, { loaders }: GraphqlContext): Promise<Job | null> {
    const subJobs = await loaders.subJobsOfJob.load(jobId);
    return subJobs.find(({ parentCallId }) => parentCallId === id) ?? null;
  }
}
