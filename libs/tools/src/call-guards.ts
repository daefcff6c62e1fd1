import { createHash } from 'node:crypto';

import { canonicalJson } from './canonical-json.js';
import { parseArguments } from './parse-arguments.js';
import type { ToolCallStatus } from './tool-call.js';

/** The fields of an earlier call that the guard reads. */
export interface EarlierCall {
  readonly name: string;
  readonly arguments: string;
  readonly status: ToolCallStatus;
}

/** Maximum failures of an identical call: the first attempt and two more. */
const MAX_FAILURES = 3;

/**
 * The calls of one job by identity (tool name and canonical arguments). It detects calls that would only repeat an earlier one: an identical
 * call is not run again if the earlier call completed, is running, or may have had its effect; a call that failed may be tried twice more.
 */
export class CallHistory {
  private readonly byIdentity = new Map<string, { done: boolean; failures: number }>();

  constructor(earlier: readonly EarlierCall[] = []) {
    for (const call of earlier) this.add(call);
  }

  /** Whether an identical call makes this one unnecessary. */
  repeats(call: Pick<EarlierCall, 'name' | 'arguments'>): boolean {
    const known = this.byIdentity.get(identityOf(call));
    return known !== undefined && (known.done || known.failures >= MAX_FAILURES);
  }

  add(call: EarlierCall): void {
    if (call.status === 'skipped' || call.status === 'denied' || call.status === 'cancelled') return;
    const identity = identityOf(call);
    const known = this.byIdentity.get(identity) ?? { done: false, failures: 0 };
    this.byIdentity.set(identity, known);
    if (call.status === 'error' || call.status === 'timed_out') known.failures++;
    else known.done = true;
  }
}

/** Each round looks at all earlier calls again, and 64 KiB of arguments can take 20 ms. */
const identities = new WeakMap<object, string>();

/** Calls with the same identity have the same tool and equivalent arguments. Arguments that cannot be parsed are compared as text. */
function identityOf(call: Pick<EarlierCall, 'name' | 'arguments'>): string {
  const known = identities.get(call);
  if (known !== undefined) return known;
  const parsed = parseArguments(call.arguments);
  const text = parsed.ok ? canonicalJson(parsed.value) : call.arguments;
  const identity = createHash('sha256').update(`${call.name}\n${text}`).digest('base64');
  identities.set(call, identity);
  return identity;
}
