import { Injectable, type OnModuleInit } from '@nestjs/common';

import type { Principal } from '#auth';
import {
  type Interrupt,
  type InterruptSettlement,
  InterruptSettler,
  InterruptTimers,
  type LockedInterrupt,
} from '#jobs';
import {
  AwaitingCallsRepository,
  CallEnds,
  deniedText,
  type FilteredEnd,
  PERSON_SILENT_TEXT,
  PERSON_SKIPPED_TEXT,
  projectResult,
  ResultHooks,
  type Settlement,
  validateValue,
} from '#tools';

import { recordDecision } from './decision-audit.repository.js';
import { type HumanInputAction, humanInputActions, type HumanInputRequest } from './human-input-interrupt.js';
import { type InterruptAnswer, type InterruptDecider, InterruptDeciders } from './interrupt-deciders.js';
import { invalidInput, invalidWord, missingAnswer } from './interrupts.errors.js';
import { assertEntitled, mayTakeAnswer } from './pending-decision.js';

/** An answer, as it is stored. `data` null: the person sent no data. */
interface HumanAnswer {
  readonly action: HumanInputAction;
  readonly data: unknown;
  readonly reason: string | null;
}

/**
 * Questions to people: the answer becomes the result of the call, or the input of the next workflow nodes. An event that a
 * workflow waits for is delivered in the same way.
 */
@Injectable()
export class HumanInputs implements InterruptDecider, OnModuleInit {
  constructor(
    private readonly settler: InterruptSettler,
    private readonly timers: InterruptTimers,
    private readonly calls: AwaitingCallsRepository,
    private readonly ends: CallEnds,
    private readonly deciders: InterruptDeciders,
    private readonly hooks: ResultHooks,
  ) {}

  onModuleInit(): void {
    for (const kind of ['human_input', 'wait'] as const) {
      this.deciders.register(kind, this);
      this.timers.register({ kind, expire: (locked) => this.expire(locked) });
    }
  }

  /**
   * A repeated answer returns the same outcome. Throws `bad_request` (an action that is missing, unknown or not offered), `invalid_input`
   * with what is wrong with the data, `cannot_decide`, `already_answered`, `expired`.
   */
  async decide(principal: Principal, interrupt: Interrupt, given: InterruptAnswer): Promise<Interrupt> {
    const answer = toHumanAnswer(given, interrupt);
    const end = await this.endOf(principal, interrupt, answer);
    return this.settler.settle(interrupt, async (locked) => {
      if (!mayTakeAnswer(locked, principal, { ...answer })) return null;
      assertOffered(locked.interrupt, answer);
      await this.settleCall(locked, { settlement: end, by: principal.id });
      await recordDecision(locked.job.client, {
        workspaceId: interrupt.workspaceId,
        actor: principal.id,
        action: `${interrupt.kind}.${answer.action}`,
        interruptId: interrupt.id,
        details: { tool: interrupt.tool, reason: answer.reason },
      });
      return { status: 'resolved', outcome: { outcome: answer.action, answer }, by: principal.id };
    });
  }

  /** Handles a request that expired: it counts as rejected, unless the request sets another outcome. */
  async expire(locked: LockedInterrupt): Promise<InterruptSettlement> {
    const skips = locked.interrupt.expireAction === 'skip';
    const { defaultAction = skips ? 'skip' : 'reject' } = requestOf(locked.interrupt);
    const settlement: FilteredEnd = skips
      ? { status: 'skipped', failure: { phase: 'approval', message: PERSON_SKIPPED_TEXT } }
      : { status: 'denied', failure: { phase: 'approval', message: PERSON_SILENT_TEXT } };
    await this.settleCall(locked, { settlement, by: null });
    return { status: 'expired', outcome: { outcome: defaultAction }, by: null };
  }

  /** How the answer ends the call, after the hooks of its result. Null: the request is not about a call, or is closed. */
  private async endOf(principal: Principal, interrupt: Interrupt, answer: HumanAnswer): Promise<FilteredEnd | null> {
    const { workspaceId, jobId, toolCallId: id, status } = interrupt;
    if (id === null || status !== 'open') return null;
    assertEntitled(principal, interrupt);
    return this.hooks.filter({ workspaceId, jobId, id }, settlementOf(answer));
  }

  /** A workflow's question has no call: the node reads the outcome from the request. */
  private async settleCall(
    { job, interrupt }: LockedInterrupt,
    { settlement, by }: { readonly settlement: FilteredEnd | null; readonly by: string | null },
  ): Promise<void> {
    if (interrupt.toolCallId === null) return;
    if (settlement === null) throw new Error(`interrupt ${interrupt.id} was opened again`);
    const call = await this.calls.find(job, interrupt.toolCallId);
    if (call === null) throw new Error(`the call of interrupt ${interrupt.id} is gone`);
    await this.ends.record(job, call, { ...settlement, by, decisionId: interrupt.id });
  }
}

function toHumanAnswer({ action, data, reason }: InterruptAnswer, interrupt: Interrupt): HumanAnswer {
  if (action === undefined) throw missingAnswer('action');
  const known = humanInputActions.find((word) => word === action);
  if (known === undefined) throw invalidWord('action', requestOf(interrupt).actions);
  return { action: known, data: data ?? null, reason: reason ?? null };
}

/** Throws if the request does not allow this action with this data. */
function assertOffered(interrupt: Interrupt, { action, data }: HumanAnswer): void {
  const { mode, inputSchema, actions, dataRequired } = requestOf(interrupt);
  if (!actions.includes(action)) throw invalidWord('action', actions);
  if (action === 'reject' || action === 'skip') return;
  if (data === null) {
    // After a skip, a node continues with its own input; but a call would have no result, and a required form would stay empty.
    if (dataRequired || interrupt.toolCallId !== null) throw missingAnswer('data');
    return;
  }
  if (mode !== 'input' || inputSchema === undefined) return;
  const issues = validateValue(inputSchema, data);
  if (issues.length > 0) throw invalidInput(issues);
}

function requestOf(interrupt: Interrupt) {
  const request = interrupt.request as Partial<HumanInputRequest>; // only `HumanInputRequest`s have this kind
  const { actions = humanInputActions, dataRequired = false } = request;
  // The nodes after a required form read its data: after a skip they would read other data.
  return { ...request, dataRequired, actions: dataRequired ? actions.filter((action) => action !== 'skip') : actions };
}

/** The result is the text itself, or the JSON of any other value. */
function settlementOf({ action, data, reason }: HumanAnswer): Settlement {
  if (action === 'skip') {
    return { status: 'skipped', failure: { phase: 'approval', message: PERSON_SKIPPED_TEXT } };
  }
  if (action === 'reject') return { status: 'denied', failure: { phase: 'approval', message: deniedText(reason) } };
  const text = typeof data === 'string' ? data : JSON.stringify(data);
  return { status: 'completed', result: projectResult(text, 'durable') };
}
