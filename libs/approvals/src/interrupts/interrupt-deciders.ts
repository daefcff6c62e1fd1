import { Injectable } from '@nestjs/common';

import type { Principal } from '#auth';
import type { Interrupt, InterruptKind } from '#jobs';

/** The kinds that people decide, at one endpoint. Clients settle `client_tool` at the endpoints of client tools. */
export type DecidedKind = Exclude<InterruptKind, 'client_tool'>;

/**
 * The body of a decision. Each kind reads its own fields; the type and size of every present field are checked. An absent field differs from
 * an empty one: `arguments: {}` is an edit, no `arguments` means no edit.
 */
export interface InterruptAnswer {
  /** One of the decisions of the kind. Required for every kind except `human_input` and `wait`, which use `action`. */
  readonly decision?: string;
  /** human_input, wait: the action on the question. */
  readonly action?: string;
  /** human_input, wait: the submitted data; null: no data. */
  readonly data?: unknown;
  /** tool_approval: the hash that the request showed. */
  readonly argumentsHash?: string;
  /** tool_approval: replaces all arguments of the call. */
  readonly arguments?: Readonly<Record<string, unknown>>;
  /** The reason in the words of the decider, at most 500 characters. */
  readonly reason?: string;
  /** tool_approval: 5, 10 or 30. */
  readonly grantMinutes?: number;
  /** unknown_outcome: the result of the call, as text or JSON, at most 256 KiB. */
  readonly result?: unknown;
}

/** Decides requests of one kind. */
export interface InterruptDecider {
  /**
   * Settles the request, under the lock of its job, and returns the settled request. A repeated decision returns the same outcome. Throws
   * `cannot_decide` to a caller who may read the request but not decide it, `already_answered`, `expired`, and the errors of the kind; then
   * the request does not change.
   */
  decide(principal: Principal, interrupt: Interrupt, answer: InterruptAnswer): Promise<Interrupt>;
}

/** The deciders of all kinds. Each kind registers its decider while the process boots. */
@Injectable()
export class InterruptDeciders {
  private readonly deciders = new Map<DecidedKind, InterruptDecider>();

  register(kind: DecidedKind, decider: InterruptDecider): void {
    if (this.deciders.has(kind)) throw new Error(`a decider for ${kind} is already registered`);
    this.deciders.set(kind, decider);
  }

  of(kind: DecidedKind): InterruptDecider {
    const decider = this.deciders.get(kind);
    if (decider === undefined) throw new Error(`no decider is registered for ${kind}`);
    return decider;
  }
}
