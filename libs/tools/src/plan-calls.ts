import type { RequestedCall } from '#models';
import { toStorableText } from '#platform';

import { CallHistory, type EarlierCall } from './call-guards.js';
import { clientOnly, IDENTICAL_TEXT, notRegistered, ROUND_LIMIT_TEXT } from './model-text.js';
import { MAX_ARGUMENT_BYTES } from './parse-arguments.js';
import type { OfferedTool } from './resolve-offered.js';
import type { ToolEffect, ToolSort } from './tool.js';
import type { SettledStatus, ToolFailure } from './tool-call.js';
import { executionError } from './validate-arguments.js';

/** What happens to a call once its round is committed: it runs here, a client runs it, or it was denied and needs nothing more. */
export type Disposition =
  | { readonly type: 'run' }
  | { readonly type: 'client' }
  | {
      readonly type: 'settled';
      readonly status: Extract<SettledStatus, 'skipped' | 'error'>;
      readonly failure: ToolFailure;
    };

/** A call of the model as it is to be committed. */
export interface PlannedCall {
  /** 1, 2, 3 … in the order of the model's answer. */
  readonly ordinal: number;
  /** The provider's id, or ours where that one was already used in the conversation. */
  readonly callId: string;
  readonly name: string;
  /** What to store: JSON text as the model wrote it, or `{"_omitted":true,"bytes":N}`. */
  readonly arguments: string;
  readonly effect: ToolEffect;
  readonly runtime: ToolSort;
  /** Fingerprint of the tool that was offered; null: it was not. */
  readonly toolVersion: string | null;
  readonly disposition: Disposition;
}

/** What a round's calls are judged by. */
export interface CallPlan {
  readonly round: number;
  /** What this round offered: nothing else may run. */
  readonly offered: readonly OfferedTool[];
  /** All calls of the job's earlier rounds. */
  readonly earlier: readonly EarlierCall[];
  /** Ids that the conversation already holds. Only looked into: there may be those of a whole job. */
  readonly usedCallIds: Pick<ReadonlySet<string>, 'has'>;
  readonly maxCalls: number;
  /** What the model reads of a call to a tool that is not there; default `notRegistered`. */
  readonly unknownTool?: (name: string) => string;
  /** Makes an id where the provider's cannot be used; absent: one made of round and position. */
  readonly newCallId?: () => string;
}

/**
 * Decides for each call a model asked for whether it runs, in this order: within the number of calls of a round, offered,
 * not left to a client, arguments within size, not a repeat. Every call is kept, since each needs a result. Pure.
 */
export function planCalls(requested: readonly RequestedCall[], plan: CallPlan): readonly PlannedCall[] {
  const history = new CallHistory(plan.earlier);
  const offered = new Map(plan.offered.map((tool) => [tool.name, tool]));
  const used = new UsedIds(plan.usedCallIds);
  return requested.map((call, index) => {
    const ordinal = index + 1;
    const tool = offered.get(call.name);
    const name = cutName(call.name);
    const storable = toStorableText(call.arguments);
    const refusal =
      ordinal > plan.maxCalls
        ? skipped(ROUND_LIMIT_TEXT)
        : (refusalOf(name, tool, plan.unknownTool) ?? oversized(name, storable));
    const repeat = refusal === null && tool?.repeatable !== true && history.repeats({ name, arguments: storable });
    const disposition = refusal ?? (repeat ? skipped(IDENTICAL_TEXT) : tool?.handling === 'client' ? CLIENT : RUN);
    if (disposition.type !== 'settled') history.add({ name, arguments: storable, status: 'running' });
    const callId = freeId(call.callId, plan.newCallId?.() ?? `call_${plan.round}_${ordinal}`, used);
    const { effect = 'once', sort: runtime = 'server', version: toolVersion = null } = tool ?? {};
    return {
      ordinal,
      callId,
      name,
      arguments: storedArguments(storable),
      effect,
      runtime,
      toolVersion,
      disposition,
    };
  });
}

const RUN: Disposition = { type: 'run' };
const CLIENT: Disposition = { type: 'client' };
const LONGEST_NAME = 64;
const LONGEST_CALL_ID = 256;

function refusalOf(name: string, tool: OfferedTool | undefined, unknownTool = notRegistered): Disposition | null {
  if (tool === undefined || tool.handling === 'unregistered') return skipped(unknownTool(name));
  return tool.handling === 'clientless' ? skipped(clientOnly(name)) : null;
}

function oversized(name: string, text: string): Disposition | null {
  if (Buffer.byteLength(text) <= MAX_ARGUMENT_BYTES) return null;
  const message = executionError(name, `arguments exceed ${MAX_ARGUMENT_BYTES} bytes`);
  return { type: 'settled', status: 'error', failure: { phase: 'validation', message } };
}

function skipped(message: string): Disposition {
  return { type: 'settled', status: 'skipped', failure: { phase: 'validation', message } };
}

function storedArguments(text: string): string {
  const bytes = Buffer.byteLength(text);
  return bytes <= MAX_ARGUMENT_BYTES ? text : JSON.stringify({ _omitted: true, bytes });
}

/** No registered name is longer; what a model makes up need not be kept whole. */
function cutName(name: string): string {
  return toStorableText(name.slice(0, LONGEST_NAME));
}

/** The call ids of earlier rounds and of this one. */
class UsedIds {
  private readonly own = new Set<string>();

  constructor(private readonly before: CallPlan['usedCallIds']) {}

  has(id: string): boolean {
    return this.own.has(id) || this.before.has(id);
  }

  add(id: string): void {
    this.own.add(id);
  }
}

/** Whether a call can go by the id that the provider gave it. */
export function isUsableCallId(id: string): boolean {
  return id !== '' && id.length <= LONGEST_CALL_ID;
}

function freeId(given: string, ours: string, used: UsedIds): string {
  const usable = isUsableCallId(given) && !used.has(given);
  let id = usable ? given : ours;
  for (let n = 2; used.has(id); n++) id = `${ours}_${n}`;
  used.add(id);
  return id;
}
