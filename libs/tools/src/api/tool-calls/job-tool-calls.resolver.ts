import { ResolveField, Resolver } from '@nestjs/graphql';

import type { GraphqlContext } from '#auth/api';
import type { Job } from '#jobs';
import { JobLoaders, JobModel } from '#jobs/api';
import { listCost } from '#platform/api';

import type { ToolCallRecord } from '../../history/tool-call-record.js';
import { ToolCall } from './tool-call.model.js';
import { ToolCallLoaders } from './tool-call-loaders.js';

/** The tool calls of a job. */
@Resolver(() => JobModel)
export class JobToolCallsResolver {
  constructor(private readonly loaders: ToolCallLoaders) {}

  @ResolveField(() => [ToolCall], {
    description: "Its tool calls, in the order of the model's requests.",
    complexity: listCost(20),
  })
  toolCalls({ id }: Job, _: unknown, context: GraphqlContext): Promise<readonly ToolCallRecord[]> {
    return this.loaders.of(context).ofJob.load(id);
  }
}

/** The job that a tool call started. */
@Resolver(() => ToolCall)
export class ToolCallSubJobResolver {
  constructor(private readonly loaders: JobLoaders) {}

  @ResolveField(() => JobModel, {
    nullable: true,
    description: 'For a workflow as a tool: the job that the call started.',
  })
  async subJob({ id, jobId }: ToolCallRecord, _: unknown, context: GraphqlContext): Promise<Job | null> {
    const subJobs = await this.loaders.of(context).subJobs.load(jobId);
    return subJobs.find(({ parentCallId }) => parentCallId === id) ?? null;
  }
}
