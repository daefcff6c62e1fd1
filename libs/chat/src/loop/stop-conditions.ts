import { IDENTICAL_TEXT } from '#tools';

import type { LoopOutcome, LoopRound } from './loop-step.js';

/** Decides from the committed rounds, whose calls are all settled, whether the loop ends, and how. */
export type StopCondition = (rounds: readonly LoopRound[]) => LoopOutcome | null;

/** The model requested no further calls. */
export const answered: StopCondition = (rounds) => {
  const last = rounds.at(-1);
  return last?.calls.length === 0 ? { type: 'finished', reason: last.finishReason } : null;
};

/** Stops when the last allowed round still requested calls, even if its request had no tools. */
export function roundLimit(maxRounds: number): StopCondition {
  return (rounds) => {
    if (rounds.length < maxRounds) return null;
    const message = `Background tool loop exceeded max iterations (${maxRounds})`;
    return { type: 'stopped', code: 'round_limit', message, cause: undefined, open: null };
  };
}

/** The outcome of the first condition that applies. */
export function firstOf(...conditions: readonly StopCondition[]): StopCondition {
  return (rounds) => {
    for (const condition of conditions) {
      const outcome = condition(rounds);
      if (outcome !== null) return outcome;
    }
    return null;
  };
}

/** Whether the last `count` rounds consisted only of repeated calls. */
export function onlyRepeats(rounds: readonly LoopRound[], count: number): boolean {
  const last = rounds.slice(-count);
  return last.length === count && last.every((round) => round.calls.length > 0 && round.calls.every(isRepeat));
}

function isRepeat(call: { readonly status: string; readonly text: string }): boolean {
  return call.status === 'skipped' && call.text === IDENTICAL_TEXT;
}
