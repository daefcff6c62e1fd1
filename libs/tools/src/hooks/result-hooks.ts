import { Injectable } from '@nestjs/common';

import { Redactor } from '#platform';

import { parseArguments } from '../parse-arguments.js';
import type { Settlement } from '../tool-call.js';
import { type EndedCallRef, type EndedCallRow, EndedCallsRepository } from './ended-calls.repository.js';
import { filterResult } from './filter-result.js';
import { type AppliedHook, Hooks } from './hooks.js';

declare const filtered: unique symbol;
type Completed = Extract<Settlement, { status: 'completed' }>;

/**
 * The end of a call after the `afterToolCall` hooks, with their changes. Only `ResultHooks` makes a completed one, so that a result cannot
 * be stored without them.
 */
export type FilteredEnd = (
  (Completed & { readonly [filtered]: true }) | Exclude<Settlement, { status: 'completed' }>
) & {
  readonly applied?: readonly AppliedHook[];
};

/**
 * Runs the `afterToolCall` hooks for calls that do not end in the worker of their job: isolated calls, sub-jobs, calls of clients, and calls
 * whose result a person or `verify` of the tool reports. Hooks may take long, so they run before the transaction that ends the call, and
 * run again if that transaction fails.
 */
@Injectable()
export class ResultHooks {
  constructor(
    private readonly hooks: Hooks,
    private readonly calls: EndedCallsRepository,
    private readonly redactor: Redactor,
  ) {}

  /** Whether there are hooks. If not, `unhooked` costs nothing. */
  get areSet(): boolean {
    return this.hooks.has('afterToolCall');
  }

  /** How long the hooks of one call may take, ms. */
  get longestMs(): number {
    return this.hooks.longestMs('afterToolCall');
  }

  /** The end of a call without hooks. Throws if there are hooks, so that no result is stored without them. */
  unhooked(end: Settlement): FilteredEnd {
    if (this.areSet && isFilterable(end)) throw new Error('the result of a call has not passed the hooks');
    return asFiltered(end);
  }

  /** The end of a call after its hooks. A call that is already settled has passed them. */
  async filter(ref: EndedCallRef, end: Settlement): Promise<FilteredEnd> {
    if (!this.areSet || !isFilterable(end)) return asFiltered(end);
    const call = await this.calls.find(ref);
    return call === null || call.isSettled ? asFiltered(end) : this.run(ref, call, end);
  }

  private async run({ workspaceId, jobId }: EndedCallRef, call: EndedCallRow, end: Settlement): Promise<FilteredEnd> {
    const { threadId, principal, kind, agent, workflow, labels, callId, tool, durationMs } = call;
    const userId = await this.hooks.userIdOf(workspaceId, principal);
    const parsed = parseArguments(call.arguments);
    const args = parsed.ok ? parsed.value : {};
    const job = { workspaceId, jobId, threadId, principal, userId, kind, agent, workflow, labels };
    const redactor = this.redactor.of(workspaceId);
    const { outcome, applied } = await filterResult(
      this.hooks,
      { ...job, callId, tool, arguments: args },
      { outcome: { ...end, modelText: '', durationMs }, redact: (text) => redactor.redact(text) },
    );
    return applied.length === 0 ? asFiltered(end) : { ...asFiltered(outcome), applied };
  }
}

/** A call that was not run, was cancelled, or has an unknown outcome has no result. */
function isFilterable({ status }: Settlement): boolean {
  return status === 'completed' || status === 'error' || status === 'timed_out';
}

function asFiltered(end: Settlement): FilteredEnd {
  return end as FilteredEnd; // the mark exists only in the type; the callers are the methods that check the hooks
}
