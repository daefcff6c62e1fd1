import type { NewJobEvent } from '#jobs';

import type { AppliedHook } from './hooks.js';

/** The position of the changed step. */
interface HookedStep {
  readonly round?: number;
  readonly callId?: string;
  readonly nodeId?: string;
}

/** The events of changes by hooks. Append them in the commit that stores the step. */
export function hookApplied(applied: readonly AppliedHook[], step: HookedStep = {}): readonly NewJobEvent[] {
  return applied.map((change) => ({ type: 'hook-applied', body: { ...change, ...step } }));
}
