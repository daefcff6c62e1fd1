import { ResolveField, Resolver } from '@nestjs/graphql';

import type { GraphqlContext } from '#auth/api';
import { listCost } from '#platform/api';

import type { Job } from '../job.js';
import { JobModel } from './job.model.js';
import { JobLoaders } from './job-loaders.js';

/** The parent and the sub-jobs of a job. */
@Resolver(() => JobModel)
export class SubJobsResolver {
  constructor(private readonly loaders: JobLoaders) {}

  @ResolveField(() => JobModel, {
    nullable: true,
    description: 'For a sub-job: its parent. Null if the parent was removed.',
  })
  parent({ parentJobId }: Job, _: unknown, context: GraphqlContext): Promise<Job | null> | null {
    return parentJobId === null ? null : this.loaders.of(context).jobs.load(parentJobId);
  }

  @ResolveField(() => [JobModel], {
    description: 'Jobs started by its tool calls, oldest first, at most 100.',
    complexity: listCost(10),
  })
  async subJobs({ id }: Job, _: unknown, context: GraphqlContext): Promise<readonly Job[]> {
    return (await this.loaders.of(context).subJobs.load(id)).slice(0, 100);
  }
}
