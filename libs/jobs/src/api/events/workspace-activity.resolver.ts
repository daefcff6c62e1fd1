import { Context, Resolver, Subscription } from '@nestjs/graphql';

import { type GraphqlContext, RequireAbility, Viewers } from '#auth/api';
import { PlainData } from '#platform/api';

import { JobsRepository } from '../../jobs.repository.js';
import { JobActivity } from './job-event.model.js';
import { WorkspaceActivity } from './workspace-activity.js';

/** A live view of all jobs of a workspace. */
@Resolver()
export class WorkspaceActivityResolver {
  constructor(
    private readonly jobs: JobsRepository,
    private readonly activity: WorkspaceActivity,
    private readonly viewers: Viewers,
  ) {}

  @PlainData()
  @RequireAbility('read', 'Job')
  @Subscription(() => JobActivity, {
    description:
      'Status changes of jobs that the caller may see. Updates are coalesced: a slow subscriber gets the latest status, not each step. Query `jobs` first.',
  })
  workspaceActivity(@Context() context: GraphqlContext): AsyncIterable<readonly object[]> {
    this.viewers.enterOwn(context, 'workspace');
    return this.follow(context);
  }

  private async *follow({ member, scope, signal }: GraphqlContext): AsyncGenerator<readonly object[], void, undefined> {
    for await (const ids of this.activity.changes(member.workspaceId, signal)) {
      const moved = await this.jobs.findManyInScope(scope, ids);
      yield moved.map(({ id, status, lastSeq }) => ({ __typename: 'JobActivity', jobId: id, status, lastSeq }));
    }
  }
}
