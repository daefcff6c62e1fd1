import { Args, Context, Parent, ResolveField, Resolver } from '@nestjs/graphql';

import type { GraphqlContext } from '#auth/api';
import type { Job } from '#jobs';
import { JobLoaders, JobModel } from '#jobs/api';
import { type ConnectionOf, PageArgs, pageCost, toNodeId } from '#platform/api';

import { contentOf } from '../../threads/rounds.repository.js';
import type { Message, Thread } from '../../threads/thread.js';
import { RoundLoaders } from '../rounds/round-loaders.js';
import { MessageConnection, MessageModel, ThreadModel } from './thread.model.js';
import { ThreadPages } from './thread-pages.js';

/** Fields of a thread that are not in its row. */
@Resolver(() => ThreadModel)
export class ThreadFieldsResolver {
  constructor(private readonly pages: ThreadPages) {}

  @ResolveField(() => String)
  nodeId({ id }: Thread): string {
    return toNodeId('Thread', id);
  }

  @ResolveField(() => MessageConnection, { description: 'Its messages, oldest first.', complexity: pageCost })
  messages(
    @Parent() { id }: Thread,
    @Args() args: PageArgs,
    @Context() context: GraphqlContext,
  ): Promise<ConnectionOf<Message>> {
    return this.pages.messagesOf(context, id, args);
  }
}

/** Fields of a message that are not in its row. */
@Resolver(() => MessageModel)
export class MessageFieldsResolver {
  constructor(
    private readonly jobs: JobLoaders,
    private readonly rounds: RoundLoaders,
  ) {}

  @ResolveField(() => String)
  nodeId({ id }: Message): string {
    return toNodeId('Message', id);
  }

  @ResolveField(() => JobModel, { nullable: true, description: 'The job that writes this message.' })
  job({ jobId }: Message, _: unknown, context: GraphqlContext): Promise<Job | null> | null {
    return jobId === null ? null : this.jobs.of(context).jobs.load(jobId);
  }

  @ResolveField()
  async content({ jobId, content }: Message, _: unknown, context: GraphqlContext): Promise<unknown> {
    // Retention writes the text of a job to its message before it deletes the job.
    if (jobId === null || content !== null) return content;
    const loaders = this.rounds.of(context);
    const [rounds, open] = await Promise.all([loaders.rounds.load(jobId), loaders.openText.load(jobId)]);
    return contentOf(rounds) + open;
  }
}
