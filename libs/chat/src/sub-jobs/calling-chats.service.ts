import { Injectable } from '@nestjs/common';

import { type ApprovalPolicy, CallGate } from '#approvals';
import { subJobLimits } from '#jobs';
import { jobKeyPlace } from '#models';
import { type Secret, SecretBox } from '#platform';
import { type Tool, ToolCatalog, type ToolContext } from '#tools';

import { AgentsService } from '../agents/agents.service.js';
import { applyAgent } from '../agents/apply-agent.js';
import { routeContext } from '../calls/route-context.js';
import type { AgentPreset } from '../input/agent.js';
import { type ChatInput, toChatInput } from '../input/chat-input.js';
import { toolsOffered } from '../tools-offered.js';
import { type CallingJob, StartedJobsRepository } from './started-jobs.repository.js';
import { startJob } from './sub-job-names.js';

/** The values that a job passes to its sub-jobs. */
export interface InheritedSettings {
  readonly job: CallingJob;
  /** Names of the server's tools. */
  readonly tools: readonly string[];
  readonly toolApproval: ApprovalPolicy | null;
  /** Policy layers of the agents of the parent jobs. */
  readonly callerPolicies: readonly ApprovalPolicy[];
  readonly providerKey: Secret | null;
}

/** Reads what a job may pass to its sub-jobs: never more than the job itself has now. */
@Injectable()
export class CallingChats {
  constructor(
    private readonly jobs: StartedJobsRepository,
    private readonly agents: AgentsService,
    private readonly catalog: ToolCatalog,
    private readonly gate: CallGate,
    private readonly secretBox: SecretBox,
  ) {}

  /** Returns null if the call does not exist. Throws `agent_gone`. */
  async of(context: ToolContext): Promise<InheritedSettings | null> {
    const { workspaceId, jobId } = context;
    const job = await this.jobs.calling(context);
    if (job === null) return null;
    const input = job.kind === 'chat' ? toChatInput(job.input) : null;
    const [agent = null] = job.agent === null ? [] : await this.agents.pinned(workspaceId, [job.agent]);
    const own = agent?.toolApproval ?? null;
    return {
      job,
      tools: input === null ? [] : await this.toolsOf(context, { job, input, agent }),
      toolApproval: input?.toolApproval ?? null,
      callerPolicies: [...(input?.callerPolicies ?? []), ...(own === null ? [] : [own])],
      providerKey:
        job.keyCipher === null ? null : this.secretBox.open(job.keyCipher, jobKeyPlace({ workspaceId, jobId })),
    };
  }

  /** The tools of the parent that its requester could call now. A sub-job at the maximum depth gets no tool that starts jobs. */
  private async toolsOf(
    { workspaceId, jobId, principal }: ToolContext,
    { job, input, agent }: { readonly job: CallingJob; readonly input: ChatInput; readonly agent: AgentPreset | null },
  ): Promise<readonly string[]> {
    const tools = await this.catalog.offeredTo({ workspaceId, userId: job.createdBy });
    const acting = agent === null ? input : applyAgent(input, agent);
    const offered = toolsOffered(acting, tools).filter(({ handling }) => handling === 'server');
    const { job: gateJob } = routeContext({ ...job, workspaceId, jobId, principal }, { ...acting, agent }, offered);
    const isLast = job.depth + 1 >= subJobLimits.depth;
    const names: string[] = [];
    for (const { name } of offered) {
      const tool = tools.find(name);
      if (tool?.enabled !== true || (isLast && startsJobs(tool))) continue;
      const { type } = await this.gate.judge(gateJob, { name, arguments: '{}', isPreview: true }, tool);
      if (type !== 'refuse') names.push(name);
    }
    return names;
  }
}

function startsJobs({ name, isolation }: Tool): boolean {
  return isolation === 'job' || name === startJob;
}
