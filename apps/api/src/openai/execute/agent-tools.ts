import { Injectable } from '@nestjs/common';

import { CallGate, type GateDecision, type GateJob } from '#approvals';
import type { MemberPrincipal } from '#auth';
import type { AgentPreset } from '#chat';
import { matchesGlob, type Tool, ToolCatalog } from '#tools';

import { toolNotFound } from './execute.errors.js';

/** A tool that may be called, and the policy's decision about this call. */
export interface AllowedTool {
  readonly tool: Tool;
  readonly answer: Exclude<GateDecision, { type: 'refuse' }>;
}

/** An agent, and the reference by which the caller named it. */
export interface NamedAgent {
  readonly agent: AgentPreset;
  readonly ref: string;
}

/** The tools of an agent that the server can run, including those that it leaves to clients. */
@Injectable()
export class AgentTools {
  constructor(
    private readonly catalog: ToolCatalog,
    private readonly gate: CallGate,
  ) {}

  /** Throws `OpenAiError` 404 that lists the available tools, also for a tool that the policy denies to this caller. */
  async find(
    principal: MemberPrincipal,
    { agent, ref }: NamedAgent,
    call: { readonly name: string; readonly arguments: string },
  ): Promise<AllowedTool> {
    const tools = await this.toolsOf(principal, agent);
    const job = toGateJob(principal, agent);
    const tool = tools.find(({ name }) => name === call.name);
    const answer = tool === undefined ? undefined : await this.gate.judge(job, call, tool);
    if (tool !== undefined && answer !== undefined && answer.type !== 'refuse') return { tool, answer };
    const others = tools.filter(({ name }) => name !== call.name);
    const judged = await Promise.all(
      others.map(async (other) => ({
        other,
        answer: await this.gate.judge(job, { name: other.name, arguments: '{}', isPreview: true }, other),
      })),
    );
    const available = judged.flatMap(({ other, answer: decision }) => (decision.type === 'refuse' ? [] : [other.name]));
    throw toolNotFound(call.name, ref, available);
  }

  private async toolsOf(principal: MemberPrincipal, { tools, externalTools }: AgentPreset): Promise<readonly Tool[]> {
    const globs = [...tools, ...externalTools];
    return (await this.catalog.offeredTo(principal))
      .list()
      .filter(({ handler, name }) => handler !== null && globs.some((glob) => matchesGlob(glob, name)));
  }
}

/** The call in the form that the gate needs, before there is a job. */
function toGateJob({ workspaceId, id: principal, userId }: MemberPrincipal, agent: AgentPreset): GateJob {
  const policies = { requestPolicy: null, agentPolicy: agent.toolApproval };
  return { workspaceId, jobId: '', threadId: null, createdBy: userId, principal, agent: agent.name, ...policies };
}
