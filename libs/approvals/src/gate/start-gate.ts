import { Injectable } from '@nestjs/common';

import { type StartCheck, StartChecks, type StartingRef, type Tool } from '#tools';

import { CallGate, type GateDecision } from './call-gate.js';
import { StartingCallsRepository } from './starting-calls.repository.js';

/**
 * Asks the gate right before a call starts outside of the job's own process: in a process of the tool queue, or in a client. The gate
 * reads through caches: never call it inside the transaction that locks the job.
 */
@Injectable()
export class StartGate implements StartCheck {
  constructor(
    private readonly gate: CallGate,
    private readonly calls: StartingCallsRepository,
    checks: StartChecks,
  ) {
    checks.register(this);
  }

  /** `tool` null: the client runs the tool, or it no longer exists. Returns null when the call does not exist. */
  async ask(ref: StartingRef, tool: Tool | null): Promise<GateDecision | null> {
    const asked = await this.calls.find(ref);
    if (asked === null) return null;
    const { job, call, allowed } = asked;
    return this.gate.recheck(job, { call, tool, allowed });
  }
}
