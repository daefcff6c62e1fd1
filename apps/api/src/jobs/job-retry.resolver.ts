import { Args, Context, Field, ID, InputType, Mutation, Resolver } from '@nestjs/graphql';

import { type MemberPrincipal, scopeOf } from '#auth';
import { type GraphqlContext, RequireAbility } from '#auth/api';
import { ChatService } from '#chat';
import { toIdempotency } from '#chat/api';
import { jobNotFound, JobsRepository, type StartedJob } from '#jobs';
import { limitedStart, StartJobPayload, StartLimiter, type StartPayload, WorkflowStartLimiter } from '#jobs/api';
import { isId } from '#platform';
import { toPayload } from '#platform/api';
import { RerunWorkflowService } from '#workflows';

@InputType({ description: 'The job to retry.' })
export class RetryJobInput {
  @Field(() => ID, { description: 'A failed or cancelled job.' })
  jobId!: string;

  @Field(() => String, {
    nullable: true,
    description: 'Makes the retry idempotent: the same key returns the same new job.',
  })
  idempotencyKey?: string | null;
}

/** Retries jobs. Each kind of job has its own start rate limit. */
@Resolver()
export class JobRetryResolver {
  constructor(
    private readonly jobs: JobsRepository,
    private readonly chat: ChatService,
    private readonly workflows: RerunWorkflowService,
    private readonly starts: StartLimiter,
    private readonly workflowStarts: WorkflowStartLimiter,
  ) {}

  @RequireAbility('retry', 'Job')
  @Mutation(() => StartJobPayload, { description: 'Repeats a failed or cancelled job as a new job.' })
  retryJob(
    @Args('input', { type: () => RetryJobInput, description: 'The job.' }) input: RetryJobInput,
    @Context() { member }: GraphqlContext,
  ): Promise<StartPayload> {
    return toPayload(() => this.retry(member, input));
  }

  private async retry(member: MemberPrincipal, { jobId, ...options }: RetryJobInput): Promise<StartedJob> {
    if (!isId(jobId)) throw jobNotFound();
    const idempotency = toIdempotency(options.idempotencyKey, { jobId });
    const job = await this.jobs.findInScope(scopeOf(member), jobId);
    if (job === null) throw jobNotFound();
    const isWorkflow = job.kind === 'workflow';
    const kind = isWorkflow ? this.workflows : this.chat;
    const limiter = isWorkflow ? this.workflowStarts : this.starts;
    return limitedStart(limiter, member, () => kind.retry(member, jobId, idempotency));
  }
}
