import { Injectable } from '@nestjs/common';

import type { Principal } from '#auth';
import {
  type DueHandler,
  type Interrupt,
  type InterruptSettlement,
  InterruptSettler,
  type LockedInterrupt,
} from '#jobs';
import { MAX_ARGUMENT_BYTES } from '#models';
import { toStorable } from '#platform';
import {
  APPROVAL_EXPIRED_TEXT,
  AwaitingCallsRepository,
  CallEnds,
  canonicalJson,
  deniedText,
  type LockedCall,
  mayBeRounded,
  ROUNDED_PROBLEM,
  ToolCatalog,
  type ToolFailure,
  validateArguments,
} from '#tools';

import { ApprovalGrantsService } from '../grants/approval-grants.service.js';
import { argumentsHash } from '../requests/approval-request.js';
import { recordDecision } from './decision-audit.repository.js';
import type { InterruptAnswer } from './interrupt-deciders.js';
import {
  argumentsChanged,
  invalidAnswer,
  invalidEdit,
  invalidWord,
  missingAnswer,
  missingArgumentsHash,
  notApprovable,
} from './interrupts.errors.js';
import { assertEntitled, mayTakeAnswer } from './pending-decision.js';

interface ApprovalAnswer {
  readonly decision: 'approve' | 'deny';
  readonly argumentsHash: string | null;
  /** Canonical JSON of edited arguments; null: unchanged. */
  readonly edited: string | null;
  readonly reason: string | null;
  readonly grantMinutes: number | null;
}

const grantChoices: readonly unknown[] = [5, 10, 30];

/** Records decisions about calls that need approval, and handles calls whose request expires. */
@Injectable()
export class ApprovalDecisions implements DueHandler {
  readonly kind = 'tool_approval';

  constructor(
    private readonly settler: InterruptSettler,
    private readonly calls: AwaitingCallsRepository,
    private readonly ends: CallEnds,
    private readonly grants: ApprovalGrantsService,
    private readonly catalog: ToolCatalog,
  ) {}

  /**
   * Approves (as shown, or with edited arguments) or denies. A repeated decision returns the same outcome. Throws `bad_request`,
   * `cannot_decide`, `already_answered`, `expired`, `arguments_changed`, `not_approvable`, `invalid_arguments`.
   */
  async decide(principal: Principal, interrupt: Interrupt, given: InterruptAnswer): Promise<Interrupt> {
    const answer = toAnswer(given);
    if (answer.edited !== null) {
      assertEntitled(principal, interrupt); // This check precedes the validation of the edit.
      if (mayBeRounded(given.arguments)) throw invalidEdit([ROUNDED_PROBLEM]);
      await this.assertValidEdit(interrupt, answer.edited);
    }
    const { argumentsHash: hash, ...kept } = answer;
    return this.settler.settle(interrupt, async (locked) => {
      if (!mayTakeAnswer(locked, principal, kept)) return null;
      const call = await this.callOf(locked);
      if (hash !== null && hash !== locked.interrupt.request['argumentsHash']) throw argumentsChanged();
      const settlement =
        answer.decision === 'approve'
          ? await this.approve(locked, { call, answer, by: principal.id })
          : await this.deny(locked, { call, reason: answer.reason, by: principal.id });
      await recordDecision(locked.job.client, {
        workspaceId: interrupt.workspaceId,
        actor: principal.id,
        action: `tool_approval.${settlement.outcome.outcome}`,
        interruptId: interrupt.id,
        details: {
          tool: call.name,
          shown: interrupt.request['argumentsHash'],
          edited: answer.edited !== null,
          reason: answer.reason,
          grantMinutes: answer.grantMinutes,
        },
      });
      return { ...settlement, outcome: { ...settlement.outcome, answer: kept } };
    });
  }

  /** Denies the call, never approves it. The job continues or fails. */
  async expire(locked: LockedInterrupt): Promise<InterruptSettlement> {
    const call = await this.callOf(locked);
    const failJob = locked.interrupt.expireAction === 'fail_job' ? { failJob: 'approval_expired' } : {};
    const failure: ToolFailure = { phase: 'approval', message: APPROVAL_EXPIRED_TEXT, ...failJob };
    await this.refuse(locked, { call, failure, approval: 'expired', by: null });
    // A job that is about to fail does not wait for the results of its other open calls.
    const runnable = locked.interrupt.expireAction === 'fail_job';
    return { status: 'expired', outcome: { outcome: 'expired' }, by: null, runnable };
  }

  private async approve(
    locked: LockedInterrupt,
    { call, answer, by }: { call: LockedCall; answer: ApprovalAnswer; by: string },
  ): Promise<InterruptSettlement> {
    const { job, interrupt } = locked;
    if (interrupt.request['approvable'] !== true) throw notApprovable();
    if (answer.argumentsHash === null) throw missingArgumentsHash(interrupt.id);
    // The call runs the arguments that the approver saw, even if another writer has changed the row.
    const { name: tool, arguments: args, round, ordinal } = call;
    const expiresAt = interrupt.expiresAt === null ? null : new Date(interrupt.expiresAt).toISOString();
    const { jobId } = job;
    if (argumentsHash({ tool, arguments: args, jobId, round, ordinal, expiresAt }) !== answer.argumentsHash)
      throw argumentsChanged();
    await this.calls.approve(job, call, { arguments: answer.edited ?? args, by, decisionId: interrupt.id });
    if (answer.grantMinutes !== null) await this.grant(locked, { minutes: answer.grantMinutes, by });
    return { status: 'resolved', outcome: { outcome: 'approved' }, by, runnable: true };
  }

  private async deny(
    locked: LockedInterrupt,
    { call, reason, by }: { call: LockedCall; reason: string | null; by: string },
  ): Promise<InterruptSettlement> {
    const failure: ToolFailure = { phase: 'approval', message: deniedText(reason) };
    await this.refuse(locked, { call, failure, approval: 'denied', by });
    return { status: 'resolved', outcome: { outcome: 'denied', reason }, by };
  }

  private async refuse(
    { job, interrupt }: LockedInterrupt,
    end: { call: LockedCall; failure: ToolFailure; approval: 'denied' | 'expired'; by: string | null },
  ): Promise<void> {
    const { call, failure, approval, by } = end;
    await this.ends.record(job, call, { status: 'denied', failure, approval, by, decisionId: interrupt.id });
  }

  private async grant(locked: LockedInterrupt, { minutes, by }: { minutes: number; by: string }): Promise<void> {
    const { workspaceId, id: interruptId, threadId, requester, adminRequired, request } = locked.interrupt;
    const operation = request['operation'];
    // A grant covers the requester's own job, not its sub-jobs.
    const isOfSubJob = locked.interrupt.rootJobId !== locked.interrupt.jobId;
    if (isOfSubJob || adminRequired || threadId === null || requester === null || typeof operation !== 'string')
      throw invalidAnswer('grantMinutes', 'You cannot give a time-limited approval for this call');
    const agent = typeof request['agent'] === 'string' ? request['agent'] : null;
    await this.grants.create(locked.job.client, {
      workspaceId,
      threadId,
      requester,
      agent,
      operation,
      minutes,
      interruptId,
      grantedBy: by,
    });
  }

  private async callOf({ job, interrupt }: LockedInterrupt): Promise<LockedCall> {
    const call = interrupt.toolCallId === null ? null : await this.calls.find(job, interrupt.toolCallId);
    if (call === null) throw new Error(`interrupt ${interrupt.id} is about no call`);
    return call;
  }

  /**
   * Edited arguments must satisfy the same size limit and schema as arguments of the model. The policy evaluates them again before they run.
   */
  private async assertValidEdit(interrupt: Interrupt, edited: string): Promise<void> {
    const { workspaceId, tool: name, request } = interrupt;
    if (request['allowEdit'] !== true) throw invalidAnswer('arguments', 'The arguments of this call cannot be edited');
    if (Buffer.byteLength(edited) > MAX_ARGUMENT_BYTES)
      throw invalidEdit([`arguments exceed ${MAX_ARGUMENT_BYTES} bytes`]);
    const tool = (await this.catalog.of(workspaceId)).find(name ?? '');
    if (tool === undefined) return; // A client tool: the client validates the arguments.
    const valid = validateArguments(tool, edited);
    if (!valid.ok) throw invalidEdit([valid.message]);
  }
}

function toAnswer(given: InterruptAnswer): ApprovalAnswer {
  const { decision, argumentsHash: hash, arguments: args, reason, grantMinutes } = given;
  if (decision === undefined) throw missingAnswer('decision');
  if (decision !== 'approve' && decision !== 'deny') throw invalidWord('decision', ['approve', 'deny']);
  const minutes = grantMinutes ?? null;
  if (minutes !== null && !grantChoices.includes(minutes))
    throw invalidAnswer('grantMinutes', 'grantMinutes must be 5, 10 or 30');
  const approves = decision === 'approve';
  return {
    decision,
    argumentsHash: hash ?? null,
    // `{}` is an edit too; only an absent field means unchanged.
    edited: approves && args !== undefined ? canonicalJson(toStorable(args, 'arguments')) : null,
    reason: reason ?? null,
    grantMinutes: approves ? minutes : null,
  };
}
