import { Injectable, type OnModuleInit } from '@nestjs/common';

import type { Principal } from '#auth';
import {
  type DueHandler,
  type Interrupt,
  type InterruptSettlement,
  InterruptSettler,
  InterruptTimers,
  retriedKinds,
} from '#jobs';

import { ApprovalDecisions } from './approval-decisions.js';
import { recordDecision } from './decision-audit.repository.js';
import { type InterruptAnswer, type InterruptDecider, InterruptDeciders } from './interrupt-deciders.js';
import { invalidWord, missingAnswer } from './interrupts.errors.js';
import { mayTakeAnswer } from './pending-decision.js';
import { UnknownOutcomes } from './unknown-outcomes.js';

const decisions = ['retry', 'give_up'] as const;

/**
 * Jobs that wait for their model provider, or for a plugin. The next attempt is made when the request expires; a person may request the
 * attempt at once, or give up. The job continues in each case: it tries again, or fails.
 */
class RetriedWaits implements InterruptDecider, DueHandler {
  constructor(
    readonly kind: (typeof retriedKinds)[number],
    private readonly settler: InterruptSettler,
  ) {}

  /** Throws `bad_request`, `cannot_decide`, `already_answered`, `expired`. */
  async decide(principal: Principal, interrupt: Interrupt, given: InterruptAnswer): Promise<Interrupt> {
    if (given.decision === undefined) throw missingAnswer('decision');
    const decision = decisions.find((word) => word === given.decision);
    if (decision === undefined) throw invalidWord('decision', decisions);
    const answer = { decision, reason: given.reason ?? null };
    return this.settler.settle(interrupt, async (locked) => {
      if (!mayTakeAnswer(locked, principal, answer)) return null;
      await recordDecision(locked.job.client, {
        workspaceId: interrupt.workspaceId,
        actor: principal.id,
        action: `${this.kind}.${decision}`,
        interruptId: interrupt.id,
        details: { reason: answer.reason },
      });
      return { status: 'resolved', outcome: { outcome: decision, answer }, by: principal.id };
    });
  }

  /** The time of the next attempt has come. */
  expire(): Promise<InterruptSettlement> {
    return Promise.resolve({ status: 'expired', outcome: { outcome: 'retried' }, by: null });
  }
}

/** Registers deciders and timers for the requests about tool calls, model providers and plugins. */
@Injectable()
export class CallInterruptKinds implements OnModuleInit {
  constructor(
    private readonly deciders: InterruptDeciders,
    private readonly timers: InterruptTimers,
    private readonly approvals: ApprovalDecisions,
    private readonly unknown: UnknownOutcomes,
    private readonly settler: InterruptSettler,
  ) {}

  onModuleInit(): void {
    const retried = retriedKinds.map((kind) => new RetriedWaits(kind, this.settler));
    for (const kind of [this.approvals, this.unknown, ...retried]) {
      this.deciders.register(kind.kind, kind);
      this.timers.register(kind);
    }
  }
}
