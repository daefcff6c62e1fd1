import { Injectable } from '@nestjs/common';

import { type StartCheck, StartChecks, type StartingRef, type Tool } from '#tools';

import { CallGate, type GateAnswer } from './call-gate.js';
import { StartingCallsRepository } from './starting-calls.repository.js';

/**
 * The gate, asked right before a call starts outside the job's own process: by a process of the isolated queue, or by a client.
 * It reads through caches: never ask it inside the transaction that holds the job.
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
  async ask(ref: StartingRef, tool: Tool | null): Promise<GateAnswer | null> {
    const asked = await this.calls.find(ref);
    if (asked === null) return null;
    const { job, call, allowed } = asked;
    return this.gate.recheck(job, { call, tool, allowed });
  }
}
