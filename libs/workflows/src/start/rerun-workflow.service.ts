import { Injectable } from '@nestjs/common';

import { abilityOf, assertCan, type MemberPrincipal, scopeOf } from '#auth';
import {
  isTerminal,
  type Job,
  jobNotFinished,
  jobNotFound,
  JobsRepository,
  type StartedJob,
  type StartRequest,
} from '#jobs';
import { missingModelKey } from '#models';
import { isId } from '#platform';

import { toGraph, type WorkflowGraph } from '../definition/graph.js';
import { DefinitionsRepository } from '../definitions/definitions.repository.js';
import { readDocument } from '../definitions/read-definition.js';
import { toWorkflowInput, type WorkflowInput, type WorkflowPin } from '../definitions/workflow-input.js';
import { workflowVersionNotFound } from '../definitions/workflows.errors.js';
import { NodeRunsRepository } from '../run/node-runs.repository.js';
import { notAWorkflowJob, stillRunning } from './start.errors.js';
import { fromNodeRuns } from './to-resume-from.js';
import { asksModels } from './tools-of.js';
import { WorkflowLaunch } from './workflow-launch.js';

/** A node of an ended job that runs again, with all nodes after it. */
export interface RerunFromNode {
  readonly jobId: string;
  /** A node of the top level. */
  readonly nodeId: string;
  /** Replaces the input of the node; null: it gets the same input again. */
  readonly editedInput: string | null;
  readonly idempotency: StartRequest['idempotency'];
}

/** Runs a part of an ended job again, as a new job that takes over the results of the other nodes. */
@Injectable()
export class RerunWorkflowService {
  constructor(
    private readonly jobs: JobsRepository,
    private readonly nodeRuns: NodeRunsRepository,
    private readonly definitions: DefinitionsRepository,
    private readonly launch: WorkflowLaunch,
  ) {}

  /**
   * Of the same version and with the same subflows; tools as they were then. Throws `not_found`, `forbidden`, `conflict` (the
   * job has not ended), `bad_request` (no workflow job; a node that it never reached, or that is not on the top), `too_large`,
   * `missing_model_key` (the job had a key of its own), and what `JobStarter.start` throws.
   */
  async rerunFromNode(principal: MemberPrincipal, request: RerunFromNode): Promise<StartedJob> {
    const { idempotency } = request;
    const replayed = idempotency === null ? null : await this.launch.replay(principal, idempotency);
    if (replayed !== null) return replayed;
    const ended = await this.findEnded(principal, request.jobId);
    const { nodeRuns } = await this.nodeRuns.load({ workspaceId: principal.workspaceId, jobId: request.jobId });
    const run = { rows: nodeRuns, before: ended.input.resumeFrom ?? null };
    const resumeFrom = fromNodeRuns(ended.graph, run, { nodeId: request.nodeId, input: request.editedInput });
    return this.startAgain(principal, { ...ended, input: { ...ended.input, resumeFrom }, idempotency });
  }

  /**
   * Runs a failed or cancelled job again with the same request, as a new job of the same thread. Throws as `rerunFromNode`, and `conflict` for a
   * completed job.
   */
  async retry(
    principal: MemberPrincipal,
    jobId: string,
    idempotency: StartRequest['idempotency'] = null,
  ): Promise<StartedJob> {
    const replayed = idempotency === null ? null : await this.launch.replay(principal, idempotency);
    if (replayed !== null) return replayed;
    const ended = await this.findEnded(principal, jobId);
    if (ended.job.status === 'completed') throw jobNotFinished();
    return this.startAgain(principal, { ...ended, input: { ...ended.input, retryOf: jobId }, idempotency });
  }

  private async findEnded(principal: MemberPrincipal, jobId: string): Promise<EndedJob> {
    const found = isId(jobId) ? await this.jobs.findInputInScope(scopeOf(principal), jobId) : null;
    if (found === null) throw jobNotFound();
    const { job } = found;
    const { workspaceId, createdBy, workflowId, workflowVersion } = job;
    assertCan(abilityOf(principal), { action: 'retry', subject: 'Job', row: { workspaceId, createdBy } });
    if (workflowId === null || workflowVersion === null) throw notAWorkflowJob();
    if (!isTerminal(job.status)) throw stillRunning();
    const input = toWorkflowInput(found.input);
    // The requester's key was erased at the end of the job, and no other key may replace it.
    if (input.hasOwnKey === true) throw missingModelKey();
    const workflow = { id: workflowId, version: workflowVersion };
    const [definition] = await this.definitions.pinned(workspaceId, [workflow]);
    if (definition === undefined) throw workflowVersionNotFound();
    return { job, input, workflow, graph: toGraph(readDocument(definition.definition)) };
  }

  private startAgain(
    principal: MemberPrincipal,
    { job, input, workflow, graph, idempotency }: EndedJob & Pick<StartRequest, 'idempotency'>,
  ): Promise<StartedJob> {
    return this.launch.start(principal, {
      workflow,
      input,
      thread: job.threadId === null ? null : { ref: job.threadId },
      messageClientId: null,
      idempotency,
      retryOf: job.id,
      labels: job.labels,
      asksModels: asksModels(graph),
      providerKey: null,
    });
  }
}

interface EndedJob {
  readonly job: Job;
  readonly input: WorkflowInput;
  readonly workflow: WorkflowPin;
  readonly graph: WorkflowGraph;
}
