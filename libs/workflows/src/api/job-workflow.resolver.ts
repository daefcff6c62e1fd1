import { Args, Context, ID, Int, Parent, Query, ResolveField, Resolver } from '@nestjs/graphql';

import { type GraphqlContext, RequireAbility } from '#auth/api';
import type { Job } from '#jobs';
import { JobModel } from '#jobs/api';
import { isId } from '#platform';
import {
  type ConnectionOf,
  Json,
  PageArgs,
  pageCost,
  positionOfCursor,
  toConnection,
  toCursor,
  toWantedPage,
} from '#platform/api';

import { isTransientCode, type NodeError } from '../engine/node-run.js';
import { type NodeRun, ShownNodeRunsRepository } from '../state/shown-node-runs.repository.js';
import type { WorkflowState } from '../state/workflow-state.js';
import { WorkflowStateReader } from '../state/workflow-state-reader.js';
import { NodeRunConnection, NodeRunError, NodeRunModel } from './node-run.model.js';

const kind = 'nodeRuns';
/** Each job's state is read by a separate statement. */
const stateCost = 100;

/** Adds the node runs and the state to workflow jobs. */
@Resolver(() => JobModel)
export class JobWorkflowResolver {
  constructor(
    private readonly nodeRuns: ShownNodeRunsRepository,
    private readonly states: WorkflowStateReader,
  ) {}

  @ResolveField(() => Json, {
    nullable: true,
    description:
      'For a workflow job: its complete state in the format of OR3, another chat client, with long texts truncated.',
    complexity: stateCost,
  })
  workflowState(@Parent() { workspaceId, id, kind }: Job): Promise<WorkflowState | null> | null {
    return kind === 'workflow' ? this.states.read(workspaceId, id) : null;
  }

  @ResolveField(() => NodeRunConnection, {
    name: kind,
    description: 'For a workflow job: its node runs in start order, with long texts truncated.',
    complexity: pageCost,
  })
  async nodeRunsOf(
    @Parent() { id }: Job,
    @Args() args: PageArgs,
    @Context() { scope }: GraphqlContext,
  ): Promise<ConnectionOf<NodeRun>> {
    const page = toWantedPage(args);
    const after = page.cursor === undefined ? {} : { after: positionOfCursor(page.cursor, kind, page.field) };
    const rows = await this.nodeRuns.listInScope(scope, id, { limit: page.limit, reverse: page.reverse, ...after });
    const count = () => this.nodeRuns.countInScope(scope, id);
    return toConnection(rows, { page, count, cursorOf: ({ ordinal }) => toCursor(kind, ordinal) });
  }

  @RequireAbility('read', 'Job')
  @Query(() => NodeRunModel, {
    nullable: true,
    description: 'A node run with its complete texts. Null: not found.',
  })
  nodeRun(
    @Args('jobId', { type: () => ID, description: 'The job.' }) jobId: string,
    @Args('ordinal', { type: () => Int, description: 'Its ordinal in the job.' }) ordinal: number,
    @Context() { scope }: GraphqlContext,
  ): Promise<NodeRun | null> | null {
    return isId(jobId) ? this.nodeRuns.findInScope(scope, { jobId, ordinal }) : null;
  }
}

/** Adds the fields that follow from the code of the error. */
@Resolver(() => NodeRunError)
export class NodeRunErrorResolver {
  @ResolveField(() => Boolean)
  retryable(@Parent() { code }: NodeError): boolean {
    return isTransientCode(code);
  }
}
