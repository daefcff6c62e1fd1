import { Injectable, type OnModuleInit } from '@nestjs/common';

import { InterruptTimers } from '#jobs';

import { ApprovalDecisions } from './approval-decisions.js';
import { InterruptDeciders } from './interrupt-deciders.js';
import { ProviderWaits } from './provider-waits.js';
import { UnknownOutcomes } from './unknown-outcomes.js';

/** Makes the kinds of requests about tool calls, and about model providers, known to those who take answers and to the timers. */
@Injectable()
export class CallInterruptKinds implements OnModuleInit {
  constructor(
    private readonly deciders: InterruptDeciders,
    private readonly timers: InterruptTimers,
    private readonly approvals: ApprovalDecisions,
    private readonly unknown: UnknownOutcomes,
    private readonly providers: ProviderWaits,
  ) {}

  onModuleInit(): void {
    for (const kind of [this.approvals, this.unknown, this.providers]) {
      this.deciders.register(kind.kind, kind);
      this.timers.register(kind);
    }
  }
}
