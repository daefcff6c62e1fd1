import { randomBytes } from 'node:crypto';

import { Injectable } from '@nestjs/common';

import { abilityOf, assertCan, type Principal } from '#auth';
import { JobStarter, type StartedJob, type StartRequest } from '#jobs';
import { Config, newId, toStorable } from '#platform';
import { ToolCatalog } from '#tools';

import { toChosen } from '../agents/agent-choice.js';
import { alreadyExecuted, toolsSwitchedOff, unknownTool } from '../chat.errors.js';
import type { AgentPreset } from '../input/agent.js';
import { chatFormat, type ChatInput } from '../input/chat-input.js';
import type { DirectCall } from '../input/direct-call.js';
import { executedCallRow, isExecutedBefore } from './executed-call.part.js';
import { type PendingCall, PendingCallsRepository } from './pending-calls.repository.js';

/** A tool call without a model. */
export interface StartDirectCall {
  readonly call: DirectCall;
  /** A call that waits for a client and is replaced by this one. It can be replaced only once. */
  readonly inPlaceOf: PendingCall | null;
  /** The agent whose tool is called and whose policy applies. */
  readonly agent: AgentPreset;
  readonly idempotency: StartRequest['idempotency'];
}

/** The `model` of a job that uses none. */
const noModel = '';

/**
 * Runs single tool calls as jobs: a conversation without a thread whose one round requests the call. So the schema, policy, limits and
 * ledger of every call apply, and the call survives crashes like every job.
 */
@Injectable()
export class DirectCalls {
  constructor(
    private readonly starter: JobStarter,
    private readonly catalog: ToolCatalog,
    private readonly pendingCalls: PendingCallsRepository,
    private readonly config: Config,
  ) {}

  /** A call that waits for a client of this principal, by the id that the client knows; null if there is none. */
  pending(principal: Principal, callId: string): Promise<PendingCall | null> {
    return this.pendingCalls.find(principal, callId);
  }

  /** The job that this key started before; null if there is none. Throws `idempotency_key_mismatch`, `admission_cancelled`. */
  replay(
    { workspaceId, id: principal }: Principal,
    idempotency: NonNullable<StartRequest['idempotency']>,
  ): Promise<StartedJob | null> {
    return this.starter.replay({ workspaceId, principal, idempotency });
  }

  /**
   * Accepts the job; it is committed on return. Throws `forbidden` (for a viewer), `bad_request` (the tool does not exist, or tools are
   * switched off), `already_executed`, and the errors of `JobStarter.start`.
   */
  async start(principal: Principal, request: StartDirectCall): Promise<StartedJob> {
    const { workspaceId, id, userId } = principal;
    assertCan(abilityOf(principal), { action: 'create', subject: 'Job', row: { workspaceId, createdBy: userId } });
    const { inPlaceOf, idempotency } = request;
    const jobId = newId();
    const input = await this.inputOf(principal, request);
    const start: StartRequest = {
      ...{ jobId, workspaceId, kind: 'chat', principal: id, createdBy: userId, retryOf: null },
      ...{ thread: null, messageClientId: null, model: noModel, keyCipher: null, idempotency },
      ...{ agentId: request.agent.id, input, format: chatFormat(input) },
      ...(inPlaceOf === null ? {} : { extraRows: [executedCallRow({ workspaceId, jobId }, inPlaceOf.toolCallId)] }),
    };
    try {
      return await this.starter.start(start);
    } catch (error) {
      throw isExecutedBefore(error) ? alreadyExecuted() : error;
    }
  }

  private async inputOf(principal: Principal, { call, inPlaceOf, agent }: StartDirectCall): Promise<ChatInput> {
    if (!this.config.values.FEATURE_BACKGROUND_TOOLS) throw toolsSwitchedOff();
    const tool = (await this.catalog.offeredTo(principal)).find(call.name);
    if (tool?.enabled !== true) throw unknownTool(call.name);
    const callId = inPlaceOf?.callId ?? `call_${randomBytes(12).toString('hex')}`;
    const input: ChatInput = {
      messages: [],
      history: 'request',
      tools: [call.name],
      toolPins: { [call.name]: tool.version },
      agent: toChosen(agent),
      call: { ...call, callId },
    };
    const stored: unknown = toStorable(input);
    return stored as ChatInput; // `toStorable` keeps the shape; only texts are normalized
  }
}
