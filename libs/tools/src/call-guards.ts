import { canonicalJson } from './canonical-json.js';
import { parseArguments } from './parse-arguments.js';
import type { ToolCallStatus } from './tool-call.js';

/** What the guard needs to know of a call that came before. */
export interface EarlierCall {
  readonly name: string;
  readonly arguments: string;
  readonly status: ToolCallStatus;
}

/** How often an identical call may fail before it is refused: the first time and twice more. */
const MAX_FAILURES = 3;

/**
 * The calls of one job by identity (tool name and canonical arguments), to refuse what would only repeat itself. A call that
 * completed, is running, or may have had its effect is not run again; one that failed may be tried twice more.
 */
export class CallHistory {
  private readonly byIdentity = new Map<string, { done: boolean; failures: number }>();

  constructor(earlier: readonly EarlierCall[] = []) {
    for (const call of earlier) this.add(call);
  }

  /** Whether an identical call need not run. */
  repeats(call: Pick<EarlierCall, 'name' | 'arguments'>): boolean {
    const known = this.byIdentity.get(identityOf(call));
    return known !== undefined && (known.done || known.failures >= MAX_FAILURES);
  }

  add(call: EarlierCall): void {
    const identity = identityOf(call);
    const known = this.byIdentity.get(identity) ?? { done: false, failures: 0 };
    this.byIdentity.set(identity, known);
    if (call.status === 'error' || call.status === 'timed_out') known.failures++;
    else if (call.status !== 'skipped' && call.status !== 'denied' && call.status !== 'cancelled') known.done = true;
  }
}

/** Two calls with the same identity ask for the same thing. Arguments that cannot be read are compared as text. */
export function identityOf(call: Pick<EarlierCall, 'name' | 'arguments'>): string {
  const parsed = parseArguments(call.arguments);
  return `${call.name}\n${parsed.ok ? canonicalJson(parsed.value) : call.arguments}`;
}
