import { Injectable } from '@nestjs/common';

import type { Principal } from '#auth';
import type { Interrupt, InterruptKind } from '#jobs';

/** The kinds that people answer at one endpoint; clients settle `client_tool` at the endpoints of client tools. */
export type DecidedKind = Exclude<InterruptKind, 'client_tool'>;

/**
 * The body of a decision. Each kind reads its own members; every present member has its right type and size.
 * A member that is absent was not sent: `arguments: {}` is an edit, no `arguments` is none.
 */
export interface InterruptAnswer {
  /** One of the words of the kind; there for every kind but `human_input`. */
  readonly decision?: string;
  /** human_input: what is done with the question. */
  readonly action?: string;
  /** human_input: what was filled in; null means nothing. */
  readonly data?: unknown;
  /** tool_approval: of the request as it was shown. */
  readonly argumentsHash?: string;
  /** tool_approval: replaces all arguments of the call. */
  readonly arguments?: Readonly<Record<string, unknown>>;
  /** In the decider's own words; at most 500 characters. */
  readonly reason?: string;
  /** tool_approval: 5, 10 or 30. */
  readonly grantMinutes?: number;
  /** unknown_outcome: what the call gave, as text or JSON; at most 256 KiB. */
  readonly result?: unknown;
}

/** Decides requests of one kind. */
export interface InterruptDecider {
  /**
   * Settles the request, under the lock of its job, and returns the settled request. The same answer again gives the same outcome.
   * Throws `cannot_decide` to a caller who may see the request and not decide it, `already_answered`, `expired`, and what
   * the kind refuses by itself; then nothing is changed.
   */
  decide(principal: Principal, interrupt: Interrupt, answer: InterruptAnswer): Promise<Interrupt>;
}

/** Who decides what. Kinds register while the process boots. */
@Injectable()
export class InterruptDeciders {
  private readonly deciders = new Map<DecidedKind, InterruptDecider>();

  register(kind: DecidedKind, decider: InterruptDecider): void {
    if (this.deciders.has(kind)) throw new Error(`${kind} is decided twice`);
    this.deciders.set(kind, decider);
  }

  of(kind: DecidedKind): InterruptDecider {
    const decider = this.deciders.get(kind);
    if (decider === undefined) throw new Error(`no decider is registered for ${kind}`);
    return decider;
  }
}
