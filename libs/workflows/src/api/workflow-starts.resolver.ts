import { Args, Context, Mutation, Resolver } from '@nestjs/graphql';

import { type GraphqlContext, RequireAbility } from '#auth/api';
import { toIdempotency } from '#chat/api';
import { limitedStart, StartJobPayload, WorkflowStartLimiter } from '#jobs/api';
import { toPayload } from '#platform/api';

import { RerunWorkflowService } from '../start/rerun-workflow.service.js';
import { StartWorkflowService } from '../start/start-workflow.service.js';
import { fromStartWorkflowInput } from './from-start-workflow-input.js';
import { RerunFromNodeInput, StartWorkflowInput } from './workflow.input.js';

/** Starts workflow jobs. */
@Resolver()
export class WorkflowStartsResolver {
  constructor(
    private readonly starts: StartWorkflowService,
    private readonly reruns: RerunWorkflowService,
    private readonly limiter: WorkflowStartLimiter,
  ) {}

  @RequireAbility('create', 'Job')
  @Mutation(() => StartJobPayload, {
    description:
      'Starts a published workflow in the background. When this returns, the job and its version are stored.',
  })
  startWorkflow(
    @Args('input', { type: () => StartWorkflowInput, description: 'The workflow and its input.' })
    input: StartWorkflowInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(() =>
      limitedStart(this.limiter, member, () => this.starts.start(member, fromStartWorkflowInput(input))),
    );
  }

  @RequireAbility('create', 'Job')
  @Mutation(() => StartJobPayload, {
    description:
      'Runs an ended workflow job again from a node, as a new job of the same version. Results of earlier nodes are reused.',
  })
  rerunFromNode(
    @Args('input', { type: () => RerunFromNodeInput, description: 'The node to start from.' })
    input: RerunFromNodeInput,
    @Context() { member }: GraphqlContext,
  ) {
    const { jobId, nodeId, editedInput = null } = input;
    return toPayload(() => {
      const idempotency = toIdempotency(input.idempotencyKey, input);
      const rerun = { jobId, nodeId, editedInput, idempotency };
      return limitedStart(this.limiter, member, () => this.reruns.rerunFromNode(member, rerun));
    });
  }
}
