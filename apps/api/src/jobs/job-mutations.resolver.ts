import { Args, Context, Mutation, ResolveField, Resolver } from '@nestjs/graphql';

import { abilityOf, assertCan } from '#auth';
import { ChatService } from '#chat';
import { type Job, jobNotFound, JobsRepository, JobStopper, type StartedJob } from '#jobs';
import { isId } from '#platform';

import { RequireAbility } from '../auth/require-ability.js';
import type { GraphqlContext } from '../graphql/graphql-context.js';
import { toPayload, type UserError } from '../graphql/user-error.model.js';
import { limitedStart } from '../limits/limited-start.js';
import { StartLimiter } from '../limits/start-limiter.js';
import { fromStartChatInput, toIdempotency } from './from-start-chat-input.js';
import { JobModel } from './job.model.js';
import { CancelJobPayload, StartJobPayload } from './job-payloads.model.js';
import { JobRetry } from './job-retry.js';
import { CancelJobInput, RetryJobInput, StartChatInput } from './start-chat.input.js';

type StartPayload = Partial<StartedJob> & { readonly userErrors: readonly UserError[] };

/** Starts, stops and repeats jobs. */
@Resolver(() => StartJobPayload)
export class JobMutationsResolver {
  constructor(
    private readonly chat: ChatService,
    private readonly jobs: JobsRepository,
    private readonly stopper: JobStopper,
    private readonly limiter: StartLimiter,
    private readonly retries: JobRetry,
  ) {}

  @RequireAbility('create', 'Job')
  @Mutation(() => StartJobPayload, {
    description: 'Starts a chat job in the background. When this returns, the job is stored.',
  })
  startChat(
    @Args('input', { type: () => StartChatInput, description: 'The conversation and its options.' })
    input: StartChatInput,
    @Context() { member }: GraphqlContext,
  ): Promise<StartPayload> {
    return toPayload(() =>
      limitedStart(this.limiter, member, () => this.chat.start(member, fromStartChatInput(input))),
    );
  }

  @RequireAbility('retry', 'Job')
  @Mutation(() => StartJobPayload, { description: 'Repeats a failed or cancelled job as a new job.' })
  retryJob(
    @Args('input', { type: () => RetryJobInput, description: 'The job.' }) input: RetryJobInput,
    @Context() { member }: GraphqlContext,
  ): Promise<StartPayload> {
    return toPayload(() => {
      if (!isId(input.jobId)) throw jobNotFound();
      const idempotency = toIdempotency(input.idempotencyKey, input);
      return this.retries.retry(member, input.jobId, idempotency);
    });
  }

  @RequireAbility('cancel', 'Job')
  @Mutation(() => CancelJobPayload, {
    description:
      'Cancels a job and its descendants: at once if no worker runs it, else the worker has up to 5 s. Idempotent.',
  })
  cancelJob(
    @Args('input', { type: () => CancelJobInput, description: 'The job.' }) input: CancelJobInput,
    @Context() { member, scope }: GraphqlContext,
  ) {
    return toPayload(async () => {
      const job = isId(input.jobId) ? await this.jobs.findInScope(scope, input.jobId) : null;
      if (job === null) throw jobNotFound();
      assertCan(abilityOf(member), { action: 'cancel', subject: 'Job', row: job });
      const stopped = await this.stopper.stopTree(scope, job.id);
      return { ...stopped, job: await this.jobs.findInScope(scope, job.id) };
    });
  }

  @ResolveField(() => JobModel, { nullable: true, description: 'The complete job. Selecting it costs a query.' })
  job({ jobId }: StartPayload, _: unknown, { loaders }: GraphqlContext): Promise<Job | null> | null {
    return jobId === undefined ? null : loaders.jobs.load(jobId);
  }
}
