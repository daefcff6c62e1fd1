import { Args, Context, Field, ID, InputType, Mutation, ResolveField, Resolver } from '@nestjs/graphql';

import { abilityOf, assertCan } from '#auth';
import { type GraphqlContext, RequireAbility } from '#auth/api';
import { isId } from '#platform';
import { toPayload } from '#platform/api';

import { JobStopper } from '../cancel/job-stopper.js';
import type { Job } from '../job.js';
import { jobNotFound } from '../jobs.errors.js';
import { JobsRepository } from '../jobs.repository.js';
import { JobModel } from './job.model.js';
import { JobLoaders } from './job-loaders.js';
import { CancelJobPayload, StartJobPayload, type StartPayload } from './job-payloads.model.js';

@InputType({ description: 'The job to cancel.' })
export class CancelJobInput {
  @Field(() => ID, { description: 'The job.' })
  jobId!: string;
}

/** Cancels jobs, and completes the result of every start. */
@Resolver(() => StartJobPayload)
export class JobMutationsResolver {
  constructor(
    private readonly jobs: JobsRepository,
    private readonly stopper: JobStopper,
    private readonly loaders: JobLoaders,
  ) {}

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
  job({ jobId }: StartPayload, _: unknown, context: GraphqlContext): Promise<Job | null> | null {
    return jobId === undefined ? null : this.loaders.of(context).jobs.load(jobId);
  }
}
