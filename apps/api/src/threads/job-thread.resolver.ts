import { ResolveField, Resolver } from '@nestjs/graphql';

import type { Thread } from '#chat';
import type { Job } from '#jobs';

import type { GraphqlContext } from '../graphql/graphql-context.js';
import { JobModel } from '../jobs/job.model.js';
import { ThreadModel } from './thread.model.js';

/** The thread of a job. */
@Resolver(() => JobModel)
export class JobThreadResolver {
  @ResolveField(() => ThreadModel, { nullable: true, description: 'The thread that it writes to.' })
  thread({ threadId }: Job, _: unknown, { loaders }: GraphqlContext): Promise<Thread | null> | null {
    return threadId === null ? null : loaders.threads.load(threadId);
  }
}
