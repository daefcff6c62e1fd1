import { Args, Context, Parent, ResolveField, Resolver } from '@nestjs/graphql';

import type { GraphqlContext } from '#auth/api';
import type { Job } from '#jobs';
import { JobLoaders, JobModel } from '#jobs/api';
import { toNodeId } from '#platform/api';

import type { ToolCallContent as Content } from '../../history/tool-call-content.repository.js';
import { ToolCallHistory } from '../../history/tool-call-history.service.js';
import type { RecordedFailure, ToolCallRecord } from '../../history/tool-call-record.js';
import { projectResult } from '../../project-result.js';
import { isRetryableFailure } from '../../to-tool-call-item.js';
import { mayReadPolicy } from './may-read-policy.js';
import { ToolCall, ToolCallContent, ToolCallError } from './tool-call.model.js';
import { LARGEST_PART, ToolCallContentArgs } from './tool-calls.args.js';

/** The fields of a tool call that are not in its own row. */
@Resolver(() => ToolCall)
export class ToolCallFieldsResolver {
  constructor(
    private readonly history: ToolCallHistory,
    private readonly jobs: JobLoaders,
  ) {}

  @ResolveField(() => String)
  nodeId({ id }: ToolCallRecord): string {
    return toNodeId('ToolCall', id);
  }

  @ResolveField(() => String, { nullable: true })
  result({ result, resultBytes }: ToolCallRecord): string | null {
    return result === null ? null : projectResult(result, 'ui', resultBytes ?? undefined);
  }

  @ResolveField(() => JobModel, { nullable: true, description: 'The job of the call.' })
  job({ jobId }: ToolCallRecord, _: unknown, context: GraphqlContext): Promise<Job | null> {
    return this.jobs.of(context).jobs.load(jobId);
  }

  @ResolveField(() => ToolCallContent, {
    nullable: true,
    description:
      'The complete content, for admins and for the requester of the job; null for others. Reads by admins are audited.',
    complexity: 50,
  })
  content(
    @Parent() { id }: ToolCallRecord,
    @Args() { resultOffset, resultLength }: ToolCallContentArgs,
    @Context() { member }: GraphqlContext,
  ): Promise<Content | null> {
    const part = { offset: Math.max(0, resultOffset), length: Math.min(Math.max(0, resultLength), LARGEST_PART) };
    return this.history.open(member, id, part);
  }
}

/** The field of a call's error that only some callers may read. */
@Resolver(() => ToolCallError)
export class ToolCallErrorResolver {
  @ResolveField(() => Boolean)
  retryable(@Parent() failure: RecordedFailure): boolean {
    return isRetryableFailure(failure);
  }

  @ResolveField(() => String, { nullable: true })
  reason({ reason }: RecordedFailure, _: unknown, { member }: GraphqlContext): string | null {
    return mayReadPolicy(member) ? reason : null;
  }
}
