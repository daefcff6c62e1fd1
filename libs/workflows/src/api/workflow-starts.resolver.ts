import { Args, Context, Mutation, Resolver } from '@nestjs/graphql';

import { type GraphqlContext, RequireAbility } from '#auth/api';
import { toIdempotency, toName, toProviderDown, toProviderKey } from '#chat/api';
import { toJobLabels } from '#jobs';
import { limitedStart, StartJobPayload, WorkflowStartLimiter } from '#jobs/api';
import { AppError, toStorable } from '#platform';
import { missing, toPayload } from '#platform/api';

import { RerunWorkflowService } from '../start/rerun-workflow.service.js';
import type { StartWorkflow } from '../start/start-workflow.js';
import { StartWorkflowService } from '../start/start-workflow.service.js';
import { toAttachments } from './to-attachments.js';
import { toHistory } from './to-history.js';
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

  @RequireAbility('retry', 'Job')
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

/** Reads the input of `startWorkflow`. Throws `bad_request` naming the invalid member, and `not_storable`. Pure. */
function fromStartWorkflowInput(given: StartWorkflowInput): StartWorkflow {
  // Normalizes the input once, so that the server hashes exactly what it stores. Only texts change, so the cast holds.
  const input = toStorable(given) as unknown as StartWorkflowInput;
  const {
    workflowId,
    version = null,
    prompt,
    threadId,
    clientMessageId,
    history,
    attachments,
    whenBusy,
    startAt,
  } = input;
  if (workflowId === '') throw missing('workflowId');
  return {
    workflowRef: workflowId,
    version,
    prompt,
    threadRef: toName('threadId', threadId),
    createThread: true,
    messageClientId: toName('clientMessageId', clientMessageId),
    history: toHistory(toList(history), 'history'),
    attachments: toAttachments(attachments ?? [], 'attachments'),
    whenBusy: whenBusy ?? null,
    ...(startAt == null ? {} : { startAt }),
    labels: toJobLabels(input.labels),
    idempotency: toIdempotency(input.idempotencyKey, input),
    providerKey: input.providerKey == null ? null : toProviderKey(input.providerKey),
    ...toProviderDown(input),
    known: {},
    resumeFrom: null,
  };
}

function toList(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value))
    throw new AppError({ code: 'bad_request', message: 'history must be a list', field: 'history' });
  return value;
}
