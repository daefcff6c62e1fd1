import { Injectable, type OnModuleInit } from '@nestjs/common';

import { InterruptSettler, InterruptTimers, retriedKinds } from '#jobs';

import { ApprovalDecisions } from './approval-decisions.js';
import { InterruptDeciders } from './interrupt-deciders.js';
import { RetriedWaits } from './retried-waits.js';
import { UnknownOutcomes } from './unknown-outcomes.js';

/** Registers the kinds of requests about tool calls, model providers and plugins for answers and timers. */
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
