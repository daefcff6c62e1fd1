import { Injectable } from '@nestjs/common';

import { abilityOf, assertCan, type Principal, PrincipalsRepository, systemPrincipal } from '#auth';
import { jobKeyPlace } from '#models';
import { type Secret, SecretBox } from '#platform';
import type { ToolContext } from '#tools';

import { contentHash } from '../definition/content-hash.js';
import { callerGone, callOutsideJob, workflowWithinItself } from '../start/start.errors.js';
import { StartWorkflowService } from '../start/start-workflow.service.js';
import { CallerPolicies } from './caller-policies.js';
import { OfferedWorkflowsRepository } from './offered-workflows.repository.js';
import type { OfferedWorkflow, WorkflowCallInput } from './workflow-tool.js';

/** Starts workflow jobs for tool calls of other jobs, with their rights, approvals and provider key. */
@Injectable()
export class WorkflowCalls {
  constructor(
    private readonly offered: OfferedWorkflowsRepository,
    private readonly starts: StartWorkflowService,
    private readonly principals: PrincipalsRepository,
    private readonly secretBox: SecretBox,
    private readonly policies: CallerPolicies,
  ) {}

  /** Returns the id of the job, which is the same for every start of one call. Throws as `StartWorkflowService.start`. */
  async start(workflow: OfferedWorkflow, input: WorkflowCallInput, context: ToolContext): Promise<string> {
    const { workspaceId, jobId, toolCallId, idempotencyKey: key } = context;
    const calling = toolCallId === undefined ? null : await this.offered.callingJob(workspaceId, jobId, toolCallId);
    if (calling === null || toolCallId === undefined) throw callOutsideJob();
    if (calling.workflowIds.includes(workflow.id)) throw workflowWithinItself();
    const { id: workflowRef, version } = workflow;
    const { keyCipher, toolApproval } = calling;
    const requestHash = contentHash({ workflowRef, version, inputs: input.inputs });
    const started = await this.starts.startForCall(await this.requesterOf(context), {
      ...{ workflowRef, version, prompt: input.prompt, inputs: input.inputs, toolApproval },
      callerPolicies: await this.policies.of(workspaceId, calling),
      parent: { jobId, callId: toolCallId },
      idempotency: { key, requestHash },
      providerKey: keyCipher === null ? null : this.openKey(keyCipher, { workspaceId, jobId }),
    });
    return started.jobId;
  }

  private openKey(keyCipher: Uint8Array, job: { readonly workspaceId: string; readonly jobId: string }): Secret {
    return this.secretBox.open(keyCipher, jobKeyPlace(job));
  }

  /** The current rights: a member who has left can start nothing. */
  private async requesterOf({ workspaceId, principal }: ToolContext): Promise<Principal> {
    if (principal === 'system') return systemPrincipal(workspaceId);
    const requester = await this.principals.find(workspaceId, principal);
    if (requester === null) throw callerGone();
    const row = { workspaceId, createdBy: requester.userId };
    assertCan(abilityOf(requester), { action: 'create', subject: 'Job', row });
    return requester;
  }
}
