import { ResolveField, Resolver } from '@nestjs/graphql';

import type { GraphqlContext } from '#auth/api';
import type { Job } from '#jobs';
import { JobModel } from '#jobs/api';

import type { Thread } from '../../threads/thread.js';
import { ThreadModel } from './thread.model.js';
import { ThreadLoaders } from './thread-loaders.js';

/** The thread of a job. */
@Resolver(() => JobModel)
export class JobThreadResolver {
  constructor(private readonly loaders: ThreadLoaders) {}

  @ResolveField(() => ThreadModel, { nullable: true, description: 'The thread that it writes to.' })
  thread({ threadId }: Job, _: unknown, context: GraphqlContext): Promise<Thread | null> | null {
    return threadId === null ? null : this.loaders.of(context).threads.load(threadId);
  }
}
