import { MAX_ARGUMENT_BYTES, type RequestedCall } from '#models';
import { toStorableText } from '#platform';

import { CallHistory, type EarlierCall } from './call-guards.js';
import { clientOnly, IDENTICAL_TEXT, notRegistered, ROUND_LIMIT_TEXT } from './model-text.js';
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

/** A call of the model, ready to be committed. */
export interface PlannedCall {
  /** 1, 2, 3 … in the order of the model's response. */
  readonly ordinal: number;
  /** The provider's id, or an id of the server if the conversation already contains the provider's id. */
  readonly callId: string;
  readonly name: string;
  /** The stored text: JSON as the model wrote it, or `{"_omitted":true,"bytes":N}`. */
  readonly arguments: string;
  readonly effect: ToolEffect;
  readonly runtime: ToolSort;
  /** The fingerprint of the offered tool; null: the tool was not offered. */
  readonly toolVersion: string | null;
  readonly disposition: Disposition;
}

/** The facts that decide about the calls of a round. */
export interface CallPlan {
  readonly round: number;
  /** The tools that this round offered. No other tool may run. */
  readonly offered: readonly OfferedTool[];
  /** All calls of the job's earlier rounds. */
  readonly earlier: readonly EarlierCall[];
  /** Ids that the conversation already contains. The plan only queries the set, which may be large. */
  readonly usedCallIds: Pick<ReadonlySet<string>, 'has'>;
  readonly maxCalls: number;
  /** The text that the model reads for an unknown tool; default `notRegistered`. */
  readonly unknownTool?: (name: string) => string;
  /** Makes an id if the provider's id cannot be used. Absent: the id consists of the round and the position. */
  readonly newCallId?: () => string;
}

/**
 * Decides for each requested call whether it runs. The checks, in order: the number of calls per round, the tool is offered, no client runs
 * it, the size of the arguments, no repetition. Keeps every call, because each needs a result. Pure.
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
    const planned = { name, arguments: storable, status: 'running' } as const;
    const repeat = refusal === null && tool?.repeatable !== true && history.repeats(planned);
    const disposition = refusal ?? (repeat ? skipped(IDENTICAL_TEXT) : tool?.handling === 'client' ? CLIENT : RUN);
    if (disposition.type !== 'settled') history.add(planned);
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
const MAX_NAME_LENGTH = 64;
const MAX_CALL_ID_LENGTH = 256;

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

/** No registered name is longer, so the rest of an invented name is dropped. */
function cutName(name: string): string {
  return toStorableText(name.slice(0, MAX_NAME_LENGTH));
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

/** Whether the id that the provider gave to a call can be used. */
export function isUsableCallId(id: string): boolean {
  return id !== '' && id.length <= MAX_CALL_ID_LENGTH;
}

function freeId(given: string, ours: string, used: UsedIds): string {
  const usable = isUsableCallId(given) && !used.has(given);
  let id = usable ? given : ours;
  for (let n = 2; used.has(id); n++) id = `${ours}_${n}`;
  used.add(id);
  return id;
}
