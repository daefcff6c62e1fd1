import { Args, Context, Resolver, Subscription } from '@nestjs/graphql';

import { abilityOf, asSubject } from '#auth';
import { type GraphqlContext, RequireAbility, Viewers } from '#auth/api';
import { EventFeed, type FeedItem, jobNotFound, JobOwnersRepository } from '#jobs';
import { JobEventsArgs, JobEventUnion } from '#jobs/api';
import { invalidCursor, PlainData } from '#platform/api';

import { type JobEventModel, toJobEventModels } from './to-job-event-model.js';

/** Live views of jobs. A source yields batches; the WebSocket endpoint turns each event into a message. */
@Resolver()
export class JobEventsResolver {
  constructor(
    private readonly owners: JobOwnersRepository,
    private readonly feed: EventFeed,
    private readonly viewers: Viewers,
  ) {}

  @PlainData()
  @RequireAbility('read', 'Job')
  @Subscription(() => JobEventUnion, {
    description: 'The event log of a job: a snapshot or the events after `after`, then live events until the job ends.',
  })
  async jobEvents(
    @Args() { jobId, after }: JobEventsArgs,
    @Context() context: GraphqlContext,
  ): Promise<AsyncIterable<readonly JobEventModel[]>> {
    if (after != null && after < 0) throw invalidCursor('after');
    const { member, signal } = context;
    const job = await this.owners.find(member.workspaceId, jobId);
    if (job === null || !abilityOf(member).can('read', asSubject('Job', job))) throw jobNotFound();
    this.viewers.enter(context, job);
    const { workspaceId, jobId: id } = job;
    return modelsOf(this.feed.follow({ workspaceId, jobId: id, after: after ?? undefined, signal }));
  }
}

/** Maps what the feed gives. By hand: a generator around a generator would cost every event of every viewer another turn. */
function modelsOf(items: AsyncGenerator<FeedItem, void, undefined>): AsyncIterable<readonly JobEventModel[]> {
  const toResult = ({
    done,
    value,
  }: IteratorResult<FeedItem, void>): IteratorResult<readonly JobEventModel[], undefined> =>
    done === true ? { done, value: undefined } : { done: false, value: toJobEventModels(value) };
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => items.next().then(toResult),
      return: () => items.return().then(toResult),
    }),
  };
}
