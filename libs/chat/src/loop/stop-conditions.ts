import { IDENTICAL_TEXT } from '#tools';

import type { LoopOutcome, LoopRound } from './loop-step.js';

/** Looks at the committed rounds, all calls settled, and says whether the loop ends here and how. */
export type StopCondition = (rounds: readonly LoopRound[]) => LoopOutcome | null;

/** The model asked for nothing more. */
export const answered: StopCondition = (rounds) => {
  const last = rounds.at(-1);
  return last?.calls.length === 0 ? { type: 'finished', reason: last.finishReason } : null;
};

/** The last round allowed asked for tools; where it was asked without any: all the same. */
export function roundLimit(maxRounds: number): StopCondition {
  return (rounds) => {
    if (rounds.length < maxRounds) return null;
    const message = `Background tool loop exceeded max iterations (${maxRounds})`;
    return { type: 'stopped', code: 'round_limit', message, cause: undefined, open: null };
  };
}

/** The first of several conditions that holds. */
export function firstOf(...conditions: readonly StopCondition[]): StopCondition {
  return (rounds) => {
    for (const condition of conditions) {
      const outcome = condition(rounds);
      if (outcome !== null) return outcome;
    }
    return null;
  };
}

/** Whether the last `count` rounds consisted of nothing but repeats of earlier calls. */
export function onlyRepeats(rounds: readonly LoopRound[], count: number): boolean {
  const last = rounds.slice(-count);
  return last.length === count && last.every((round) => round.calls.length > 0 && round.calls.every(isRepeat));
}

function isRepeat(call: { readonly status: string; readonly text: string }): boolean {
  return call.status === 'skipped' && call.text === IDENTICAL_TEXT;
}
