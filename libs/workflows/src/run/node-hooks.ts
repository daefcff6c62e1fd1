import type { HookedJob } from '@nightshift/plugin';

import { toStorableText } from '#platform';
import { type Denied, type Filtered, hookApplied, type HookEnd } from '#tools';

import { routesOf } from '../definition/edge-lookup.js';
import { LIMITS } from '../definition/limits.js';
import type { HookedEnd, NodeKey, NodeRunRow } from '../engine/node-run.js';
import type { LeaseContext } from './lease-context.js';
import type { LocatedNode } from './locate-node.js';
import type { Report } from './node-report.js';
import { nodeRunRow } from './node-run.part.js';
import type { Hooked } from './run-facts.js';

/** A node run before its execution. */
interface Execution extends LocatedNode {
  readonly row: NodeRunRow;
  readonly signal: AbortSignal;
}

/**
 * The `beforeNode` and `afterNode` hooks of one lease. Before the node has an effect, the changes of `beforeNode` hooks are stored together with the
 * fact that they ran, so they run once per node run, even if it waits for a person. The changes of `afterNode` hooks are stored with the end of the
 * node run.
 */
export class NodeHooks {
  private known: Promise<HookedJob> | undefined;

  constructor(private readonly context: Pick<LeaseContext, 'run' | 'facts' | 'services'>) {}

  /** Returns whether hooks apply to a node run. */
  concern(row: NodeRunRow): boolean {
    return row.extra.hooks !== undefined || this.mayMatch('beforeNode', row) || this.mayMatch('afterNode', row);
  }

  private mayMatch(on: 'beforeNode' | 'afterNode', row: NodeRunRow): boolean {
    const { hooks } = this.context.services;
    return hooks.has(on) && hooks.has(on, { ...this.fields, node: nodeOf(row) });
  }

  /** The event fields that are the same for the whole job. */
  private get fields(): Omit<HookedJob, 'userId'> {
    const { workspaceId, jobId, threadId, principal, kind, workflowId: workflow, labels } = this.context.run.job;
    return { workspaceId, jobId, threadId, principal, kind, agent: null, workflow, labels };
  }

  /** `work` gets the row with the input after the hooks. It does the retries, so hooks run once for all attempts. */
  async around(execution: Execution, work: (row: NodeRunRow) => Promise<Report>): Promise<Report> {
    const { row, signal } = execution;
    const { input, hooks } = await this.before(row, signal);
    const hooked = { ...row, input };
    const report = hooks.end === undefined ? await work(hooked) : endedBefore(execution, hooked, hooks.end);
    const { event, ...rest } = hooks.end === undefined ? await this.after(hooked, signal, report) : report;
    if (event.type !== 'settled' && event.type !== 'failed') return { ...rest, event };
    return { ...rest, event: { ...event, input } };
  }

  private async before(row: NodeRunRow, signal: AbortSignal): Promise<Hooked> {
    const { facts, run, services } = this.context;
    const { input, extra } = row;
    const known =
      facts.hookedOf(row.ordinal) ?? (extra.hooks === undefined ? undefined : { input, hooks: extra.hooks });
    if (known !== undefined) return known;
    if (!this.mayMatch('beforeNode', row)) return { input, hooks: {} };
    const event = { ...(await this.job()), node: nodeOf(row), input };
    const after = await services.hooks.filter('beforeNode', event, {
      signal,
      problemOf: (changed) => problemOf('input', changed.input),
    });
    const end = after.end === null ? {} : { end: toEnd(after.end) };
    const hooked = { input: this.textOf(after, 'input', input), hooks: end };
    facts.passHooks(row.ordinal, hooked);
    run.append({
      rows: [nodeRunRow(run.job, facts.completed(row), facts.of(row.ordinal))],
      events: hookApplied(after.applied, { nodeId: row.nodeId }),
    });
    return hooked;
  }

  private async after(row: NodeRunRow, signal: AbortSignal, report: Report): Promise<Report> {
    const { facts, services } = this.context;
    const { event } = report;
    if (event.type !== 'settled' || !this.mayMatch('afterNode', row)) return report;
    const { settlement, key } = event;
    const shown = { ...(await this.job()), node: nodeOf(row), output: settlement.output };
    const after = await services.hooks.filter('afterNode', shown, {
      signal,
      problemOf: (changed) => problemOf('output', changed.output),
    });
    facts.keepChanges(row.ordinal, hookApplied(after.applied, { nodeId: row.nodeId }));
    if (after.end !== null) return { event: failedBy(key, toEnd(after.end)) };
    const output = this.textOf(after, 'output', settlement.output);
    return { event: { ...event, settlement: { ...settlement, output } } };
  }

  /** Returns a text after the hooks; known secrets are removed from a changed text. */
  private textOf<Name extends string>(
    {
      event,
      applied,
    }: Pick<Filtered<'beforeNode' | 'afterNode'>, 'applied'> & {
      readonly event: Readonly<Record<Name, unknown>>;
    },
    name: Name,
    original: string,
  ): string {
    if (applied.length === 0 || event[name] === original) return original;
    const redactor = this.context.services.redactor.of(this.context.run.job.workspaceId);
    return toStorableText(redactor.redact(toText(event[name])));
  }

  private job(): Promise<HookedJob> {
    this.known ??= this.describe();
    return this.known;
  }

  private async describe(): Promise<HookedJob> {
    const { fields } = this;
    return { ...fields, userId: await this.context.services.hooks.userIdOf(fields.workspaceId, fields.principal) };
  }
}

function nodeOf({ nodeId: id, type, ordinal: run }: NodeRunRow) {
  return { id, type, run };
}

/** Text as it is, anything else as JSON. */
function toText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function problemOf(name: string, value: unknown): string | null {
  return toText(value).length <= LIMITS.filledLength
    ? null
    : `it returned an ${name} of more than ${LIMITS.filledLength} characters`;
}

function toEnd(end: Denied | HookEnd<'beforeNode'> | HookEnd<'afterNode'>): HookedEnd {
  switch (end.type) {
    case 'skipped':
      return { type: 'skipped', reason: end.reason };
    case 'failed':
      return { type: 'failed', code: 'hook_denied', reason: end.reason };
    case 'denied':
      return { type: 'failed', code: end.code, reason: end.reason };
  }
}

/** Like a node that a person skips, a node that a hook skips passes its input on. */
function endedBefore({ graph, node }: LocatedNode, row: NodeRunRow, end: HookedEnd): Report {
  if (end.type === 'failed') return { event: failedBy(row, end) };
  const routes = node.type === 'router' ? routesOf(graph, node.id).map(({ id }) => id) : ['output'];
  const handles = node.type === 'output' ? [] : routes;
  const extra = { note: `Skipped by a hook: ${end.reason}` };
  return { event: { type: 'settled', key: row, settlement: { output: row.input, handles, handOn: 'output', extra } } };
}

function failedBy(key: NodeKey, end: HookedEnd): Report['event'] {
  const code = end.type === 'failed' ? end.code : 'hook_denied';
  return { type: 'failed', key, error: { message: end.reason, code } };
}
