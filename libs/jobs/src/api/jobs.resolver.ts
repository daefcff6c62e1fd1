import { Args, Context, ID, Query, Resolver } from '@nestjs/graphql';

import { type GraphqlContext, RequireAbility } from '#auth/api';
import { defined, isId } from '#platform';
import {
  both,
  type ConnectionOf,
  idOfCursor,
  pageCost,
  toConnection,
  toCursor,
  toIdOrNone,
  toWantedPage,
} from '#platform/api';

import type { Job } from '../job.js';
import type { JobStatus } from '../job.lifecycle.js';
import { toJobLabels } from '../job-labels.js';
import { type JobFilter, JobsRepository } from '../jobs.repository.js';
import { JobConnection, JobModel } from './job.model.js';
import { JobLoaders } from './job-loaders.js';
import { type JobFilterInput, JobOfMessageArgs, JobsArgs } from './jobs.args.js';

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
  @Query(() => JobModel, { nullable: true, description: 'The newest job that writes a message. Null: not found.' })
  jobOfMessage(@Args() message: JobOfMessageArgs, @Context() { scope }: GraphqlContext): Promise<Job | null> {
    return this.jobs.findByMessageInScope(scope, message);
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

/** Converts the input to a `JobFilter`. If a field has two comparisons, both must match. Throws `bad_request` (`labels`). */
function toJobFilter(input: JobFilterInput | null | undefined): JobFilter {
  const { status, kind, threadId, workflowId, createdBy, createdAt, labels } = input ?? {};
  const statuses = both<JobStatus>(status?.eq, status?.in);
  const kinds = both<string>(kind?.eq, kind?.in);
  return {
    ...defined({ statuses, kinds }),
    ...(threadId == null ? {} : { threadId: toIdOrNone(threadId.eq) }),
    ...(workflowId == null ? {} : { workflowId: toIdOrNone(workflowId.eq) }),
    ...(createdBy == null ? {} : { createdBy: toIdOrNone(createdBy.eq) }),
    ...(createdAt?.gte == null ? {} : { createdAfter: createdAt.gte }),
    ...(createdAt?.lt == null ? {} : { createdBefore: createdAt.lt }),
    ...(labels == null ? {} : { labels: toJobLabels(labels) }),
  };
}
