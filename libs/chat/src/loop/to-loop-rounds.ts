import type { FinishReason } from '#models';
import { isOpen, type LedgerCall, modelTextOf } from '#tools';

import { receiptOf } from '../history/receipt-of.js';
import type { LoopRound } from './loop-step.js';

/** A committed round as it is stored. */
export interface CommittedRound {
  readonly number: number;
  readonly text: string;
  readonly reasoning: string;
  readonly finishReason: string;
  readonly captured?: string | null;
}

/**
 * The rounds of an interrupted job from its rows, for `LoopInput.rounds`: settled calls have the result that the model reads, and the loop
 * returns open calls to its consumer again. Rows may be in any order.
 */
export function toLoopRounds(rounds: readonly CommittedRound[], calls: readonly LedgerCall[]): readonly LoopRound[] {
  const byRound = Map.groupBy(
    calls.toSorted((a, b) => a.ordinal - b.ordinal),
    (call) => call.round,
  );
  return rounds
    .toSorted((a, b) => a.number - b.number)
    .map(({ number, text, reasoning, finishReason, captured = null }) => ({
      round: number,
      text,
      reasoning,
      finishReason: toFinishReason(finishReason),
      ...(captured === null ? {} : { captured }),
      calls: (byRound.get(number) ?? []).map((call) => ({
        ordinal: call.ordinal,
        callId: call.callId,
        name: call.name,
        arguments: call.arguments,
        ...statusAndText(call),
        ...receiptOf(call),
      })),
    }));
}

/** A call with an unknown outcome counts as running while a person decides about it, so its round is not finished. */
function statusAndText(call: LedgerCall): Pick<LoopRound['calls'][number], 'status' | 'text'> {
  if (call.status === 'interrupted' && (call.state?.interruptId ?? null) !== null)
    return { status: 'running', text: '' };
  return { status: call.status, text: isOpen(call.status) ? '' : modelTextOf(call) };
}

const FINISH_REASONS: readonly FinishReason[] = ['stop', 'length', 'tool_calls', 'content_filter', 'other'];

function toFinishReason(text: string): FinishReason {
  return FINISH_REASONS.find((reason) => reason === text) ?? 'other';
}
