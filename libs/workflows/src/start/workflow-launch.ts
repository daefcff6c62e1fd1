import { Injectable } from '@nestjs/common';

import type { Principal } from '#auth';
import { type JobRef, JobStarter, type PartRow, type StartedJob, type StartRequest } from '#jobs';
import { jobKeyPlace, ModelCatalog } from '#models';
import { AppError, newId, type Secret, SecretBox, toStorable } from '#platform';

import { workflowFormat, type WorkflowInput, type WorkflowPin } from '../definitions/workflow-input.js';
import type { StartWorkflow } from './start-workflow.js';

/** A validated run that can start. */
export interface ReadyWorkflow extends Pick<
  StartRequest,
  'thread' | 'messageClientId' | 'whenBusy' | 'startAt' | 'labels' | 'idempotency' | 'retryOf' | 'parent'
> {
  readonly workflow: WorkflowPin;
  readonly input: WorkflowInput;
  /** Whether it can run without any model. */
  readonly asksModels: boolean;
  readonly providerKey: Secret | null;
  readonly extraRows?: StartWorkflow['extraRows'];
  /** Makes the `condition` of the request. */
  readonly condition?: (job: JobRef) => PartRow;
}

/** The model name for nodes without one if the workspace has no default, either; such a run calls no model. */
const noModel = 'openai/gpt-4o-mini';

/** Passes workflow jobs to the job starter. */
@Injectable()
export class WorkflowLaunch {
  constructor(
    private readonly starter: JobStarter,
    private readonly models: ModelCatalog,
    private readonly secretBox: SecretBox,
  ) {}

  /** The job that an earlier start with this key created; null: none. Throws as `JobStarter.replay`. */
  replay(
    { workspaceId, id: principal }: Principal,
    idempotency: NonNullable<StartRequest['idempotency']>,
  ): Promise<StartedJob | null> {
    return this.starter.replay({ workspaceId, principal, idempotency });
  }

  /** The job is committed when this returns. Throws `missing_model_key` and what `JobStarter.start` throws. */
  async start(principal: Principal, ready: ReadyWorkflow): Promise<StartedJob> {
    const { workspaceId, id, userId } = principal;
    const { input, asksModels, providerKey, extraRows, condition, ...request } = ready;
    const jobId = newId();
    const hasOwnKey = providerKey !== null;
    return this.starter.start({
      ...request,
      jobId,
      workspaceId,
      kind: 'workflow',
      principal: id,
      createdBy: userId,
      model: await this.modelName({ workspaceId, hasOwnKey, asksModels }),
      input: { ...(toStorable(input) as object), ...(hasOwnKey ? { hasOwnKey } : {}) }, // an object in, an object out
      format: workflowFormat,
      keyCipher: providerKey === null ? null : this.secretBox.seal(providerKey, jobKeyPlace({ workspaceId, jobId })),
      ...(extraRows === undefined ? {} : { extraRows: extraRows({ workspaceId, jobId }) }),
      ...(condition === undefined ? {} : { condition: condition({ workspaceId, jobId }) }),
    });
  }

  private async modelName(request: {
    readonly workspaceId: string;
    readonly hasOwnKey: boolean;
    readonly asksModels: boolean;
  }): Promise<string> {
    const { asksModels, ...rest } = request;
    try {
      return await this.models.modelNameFor({ ...rest, wanted: null });
    } catch (error) {
      if (asksModels || !(error instanceof AppError) || error.code !== 'missing_model_key') throw error;
      return noModel;
    }
  }
}
