import { Injectable } from '@nestjs/common';

import type { MemberPrincipal } from '#auth';
import { AgentsService, AnswersRepository, DirectCalls, type StartDirectCall } from '#chat';
import type { StartedJob } from '#jobs';
import { limitedStart, StartLimiter } from '#jobs/api';
import { AppError } from '#platform';
import { canonicalJson, parseArguments, validateArguments } from '#tools';

import { AgentTools, type AllowedTool } from './agent-tools.js';
import {
  agentNotFound,
  approvalRequired,
  callDiffers,
  callExecuted,
  callNotFound,
  invalidArguments,
} from './execute.errors.js';
import type { ExecuteRequest } from './execute-request.js';

/** Accepts single calls: every check that can reject a call runs before a job exists. */
@Injectable()
export class ToolExecution {
  constructor(
    private readonly agents: AgentsService,
    private readonly tools: AgentTools,
    private readonly calls: DirectCalls,
    private readonly limiter: StartLimiter,
    private readonly answers: AnswersRepository,
  ) {}

  /** Whether the server has begun to run a `once` tool for the job. */
  async hasRunOnce(job: { readonly workspaceId: string; readonly jobId: string }): Promise<boolean> {
    return this.answers.hasRunOnce(job);
  }

  /** The job is committed when this returns. Throws `OpenAiError` by the table of this route, and what `DirectCalls` throws. */
  async start(principal: MemberPrincipal, request: ExecuteRequest, key: string | null): Promise<StartedJob> {
    const idempotency = key === null ? null : { key, requestHash: request.bodyHash };
    // A repeated key returns its first job even if the call would be rejected by now, for example because it was settled.
    const known = idempotency === null ? null : await this.calls.replay(principal, idempotency);
    if (known !== null) return known;
    const checked = await this.check(principal, request);
    try {
      return await limitedStart(this.limiter, principal, () =>
        this.calls.start(principal, { ...checked, idempotency }),
      );
    } catch (error) {
      throw error instanceof AppError && error.code === 'already_executed' ? callExecuted() : error;
    }
  }

  private async check(
    principal: MemberPrincipal,
    request: ExecuteRequest,
  ): Promise<Omit<StartDirectCall, 'idempotency'>> {
    const call = { name: request.toolName, arguments: request.arguments };
    const agent = await this.agentOf(principal, request.agent);
    const allowed = await this.tools.find(principal, { agent, ref: request.agent }, call);
    const valid = validateArguments(allowed.tool, call.arguments);
    if (!valid.ok) throw invalidArguments(problemOf(call.name, valid.message));
    if (needsPerson(allowed)) throw approvalRequired(call.name);
    const inPlaceOf = await this.pending(principal, request);
    return { call, inPlaceOf, agent };
  }

  private async agentOf(principal: MemberPrincipal, ref: string) {
    try {
      return await this.agents.find(principal, ref);
    } catch (error) {
      throw error instanceof AppError && error.code === 'not_found' ? agentNotFound(ref) : error;
    }
  }

  private async pending(principal: MemberPrincipal, request: ExecuteRequest): Promise<StartDirectCall['inPlaceOf']> {
    const { toolCallId, toolName } = request;
    if (toolCallId === null) return null;
    const pending = await this.calls.pending(principal, toolCallId);
    if (pending === null) throw callNotFound(toolCallId);
    if (pending.name !== toolName || !isSame(pending.arguments, request.arguments)) throw callDiffers();
    if (pending.isExecuted) throw callExecuted();
    return pending;
  }
}

function needsPerson({ tool, answer }: AllowedTool): boolean {
  return answer.type === 'ask' || tool.asks === 'person';
}

/** Whether two JSON texts are equal; the order of members does not matter. */
function isSame(one: string, other: string): boolean {
  const [a, b] = [parseArguments(one), parseArguments(other)];
  return a.ok && b.ok && canonicalJson(a.value) === canonicalJson(b.value);
}

/** The message without the prefix that names the tool to a model. */
function problemOf(name: string, message: string): string {
  return message.replace(`Error executing tool "${name}": `, '').replace(/^invalid arguments: /, '');
}
