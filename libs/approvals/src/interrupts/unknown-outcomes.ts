import { Injectable } from '@nestjs/common';

import type { Principal } from '#auth';
import {
  type DueHandler,
  insertInterrupt,
  type Interrupt,
  interruptOpened,
  type InterruptSettlement,
  InterruptSettler,
  type LockedInterrupt,
  type LockedJob,
} from '#jobs';
import {
  AwaitingCallsRepository,
  CallEnds,
  callUpdated,
  executionError,
  type FilteredEnd,
  type LockedCall,
  projectResult,
  ResultHooks,
  type Settlement,
} from '#tools';

import { recordDecision } from './decision-audit.repository.js';
import type { InterruptAnswer } from './interrupt-deciders.js';
import { invalidWord, missingAnswer } from './interrupts.errors.js';
import { assertEntitled, mayTakeAnswer } from './pending-decision.js';
import { unknownOutcomeRequest } from './unknown-outcome-request.js';

const decisions = ['happened', 'did_not_happen', 'repeat', 'report'] as const;
type Decision = (typeof decisions)[number];

interface Decided {
  readonly decision: Decision;
  readonly result: string | null;
  readonly reason: string | null;
}

/** Started calls with an unknown outcome. Only a recorded decision ends that state. */
@Injectable()
export class UnknownOutcomes implements DueHandler {
  readonly kind = 'unknown_outcome';

  constructor(
    private readonly settler: InterruptSettler,
    private readonly calls: AwaitingCallsRepository,
    private readonly ends: CallEnds,
    private readonly hooks: ResultHooks,
  ) {}

  /** Opens a request to a person about a call that was interrupted outside of its job's lease. Runs in the transaction that locks the job. */
  async open(
    job: LockedJob,
    call: LockedCall,
    about: { readonly worker: string | null } = { worker: null },
  ): Promise<void> {
    const { workspaceId, jobId, row } = job;
    const interrupt = unknownOutcomeRequest(
      { workspaceId, jobId, threadId: row.threadId, createdBy: row.createdBy },
      { ...call, toolCallId: call.id, arguments: call.approvedArguments ?? call.arguments },
      { worker: about.worker, verification: null },
    );
    job.send(...(await insertInterrupt(job.client, job, interrupt)));
    job.append(interruptOpened(interrupt));
  }

  /** Throws `bad_request`, `cannot_decide`, `already_answered`, `expired`. */
  async decide(principal: Principal, interrupt: Interrupt, given: InterruptAnswer): Promise<Interrupt> {
    const decided = toDecided(given);
    const end = await this.endOf(principal, interrupt, decided);
    return this.settler.settle(interrupt, async (locked) => {
      if (!mayTakeAnswer(locked, principal, { ...decided })) return null;
      await this.apply(locked, { decided, end, by: principal.id });
      await recordDecision(locked.job.client, {
        workspaceId: interrupt.workspaceId,
        actor: principal.id,
        action: `unknown_outcome.${decided.decision}`,
        interruptId: interrupt.id,
        details: { tool: interrupt.tool, reason: decided.reason },
      });
      const { decision: outcome } = decided;
      return {
        status: 'resolved',
        outcome: { outcome, answer: decided },
        by: principal.id,
        runnable: outcome === 'repeat',
      };
    });
  }

  /** The request expired undecided: the model reads that the outcome is unknown. */
  expire(): Promise<InterruptSettlement> {
    return Promise.resolve({ status: 'expired', outcome: { outcome: 'report' }, by: null });
  }

  /** How a decision ends the call, after the hooks of its result; null: the decision does not end the call. */
  private async endOf(principal: Principal, interrupt: Interrupt, decided: Decided): Promise<FilteredEnd | null> {
    const { workspaceId, jobId, toolCallId: id, status, tool } = interrupt;
    const end = toSettlement(tool ?? '', decided);
    if (id === null || status !== 'open' || end === null) return null;
    assertEntitled(principal, interrupt);
    return this.hooks.filter({ workspaceId, jobId, id }, end);
  }

  private async apply(
    { job, interrupt }: LockedInterrupt,
    { decided, end, by }: { readonly decided: Decided; readonly end: FilteredEnd | null; readonly by: string },
  ): Promise<void> {
    if (interrupt.toolCallId === null) return; // a workflow node reads the decision of this request
    const call = await this.calls.find(job, interrupt.toolCallId);
    if (call === null) throw new Error(`interrupt ${interrupt.id} is about no call`);
    const decision = { by, decisionId: interrupt.id };
    switch (decided.decision) {
      case 'happened':
      case 'did_not_happen':
        if (end === null) throw new Error(`interrupt ${interrupt.id} was opened again`);
        await this.ends.record(job, call, { ...end, ...decision });
        return;
      case 'repeat':
        await this.calls.repeat(job, call, decision);
        job.append(callUpdated({ ...call, status: 'pending', error: null }));
        return;
      case 'report':
    }
  }
}

/** How a decision ends the call; null: the decision does not end it. */
function toSettlement(name: string, { decision, result, reason }: Decided): Settlement | null {
  if (decision === 'happened') return { status: 'completed', result: projectResult(result ?? '', 'durable') };
  if (decision !== 'did_not_happen') return null;
  const message = executionError(name, reason ?? 'it did not happen');
  return { status: 'error', failure: { phase: 'execution', message } };
}

function toDecided({ decision, result, reason }: InterruptAnswer): Decided {
  if (decision === undefined) throw missingAnswer('decision');
  const known = decisions.find((word) => word === decision);
  if (known === undefined) throw invalidWord('decision', decisions);
  return {
    decision: known,
    result: known === 'happened' ? toText(result) : null,
    reason: reason ?? null,
  };
}

function toText(result: unknown): string {
  if (result === undefined || result === null) return '';
  return typeof result === 'string' ? result : JSON.stringify(result);
}
