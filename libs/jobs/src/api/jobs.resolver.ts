import { Args, Context, ID, Query, Resolver } from '@nestjs/graphql';

import { type GraphqlContext, RequireAbility } from '#auth/api';
import { isId } from '#platform';
import { type ConnectionOf, idOfCursor, pageCost, toConnection, toCursor, toWantedPage } from '#platform/api';

import type { Job } from '../job.js';
import { JobsRepository } from '../jobs.repository.js';
import { JobConnection, JobModel } from './job.model.js';
import { JobLoaders } from './job-loaders.js';
import { JobsArgs } from './jobs.args.js';
import { toJobFilter } from './to-job-filter.js';

/** Reads jobs. */
@Resolver(() => JobModel)
export class JobsResolver {
  constructor(
    private readonly jobs: JobsRepository,
    private readonly loaders: JobLoaders,
  ) {}

  @RequireAbility('read', 'Job')
  @Query(() => JobModel, { nullable: true, description: 'A job. Null: not found.' })
  job(
    @Args('id', { type: () => ID, description: 'The id of the job.' }) id: string,
    @Context() context: GraphqlContext,
  ): Promise<Job | null> | null {
    return isId(id) ? this.loaders.of(context).jobs.load(id) : null;
  }

  @RequireAbility('read', 'Job')
  @Query(() => JobConnection, {
    name: 'jobs',
    description: 'Jobs that the caller may see, newest first.',
    complexity: pageCost,
  })
  async list(@Args() args: JobsArgs, @Context() { scope }: GraphqlContext): Promise<ConnectionOf<Job>> {
    const page = toWantedPage(args);
    const filter = toJobFilter(args.filter);
    const after = page.cursor === undefined ? {} : { after: idOfCursor(page.cursor, 'jobs', page.field) };
    const rows = await this.jobs.listInScope(scope, filter, { limit: page.limit, reverse: page.reverse, ...after });
    const count = () => this.jobs.countInScope(scope, filter);
    return toConnection(rows, { page, count, cursorOf: ({ id }) => toCursor('jobs', id) });
  }
}
