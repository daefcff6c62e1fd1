import { ConversationFailed } from '#chat';
import { Draining, type JobRun, LeaseLost } from '#jobs';
import { isTransient, systemClock, toStorableText, waitUnlessAborted } from '#platform';

import { LIMITS } from '../definition/limits.js';
import {
  NodeFailure,
  type NodeOutcome,
  type NodePorts,
  type ScopeView,
  type Waiting,
} from '../engine/node-executor.js';
import type { NodeError, NodeKey, NodeRunRow } from '../engine/node-run.js';
import type { DecideCommand } from '../engine/run-command.js';
import type { RunEvent } from '../engine/run-event.js';
import { mapItems } from '../nodes/map-items.js';
import { nextRetryMs, withRetryHistory } from '../nodes/retry-policy.js';
import { isFinalFailure, toNodeError } from '../nodes/to-node-error.js';
import type { PlanNodes } from './locate-node.js';
import type { NodeHooks } from './node-hooks.js';
import type { Report } from './node-report.js';
import type { NodeServices } from './node-services.js';

/** One piece of work of a node run. */
export interface Assignment {
  readonly row: NodeRunRow;
  readonly view: ScopeView;
  /** The actions of the node while the signal is not aborted. `row` has the input that hooks changed. */
  readonly portsWithin: (signal: AbortSignal, row?: NodeRunRow) => NodePorts;
  readonly signal: AbortSignal;
}

type Finished = Extract<NodeOutcome, { type: 'finished' }>;

/** Executes the commands of the engine: nodes, conditions of loops, and listings of maps. */
export class NodeWork {
  constructor(
    private readonly nodes: PlanNodes,
    private readonly run: JobRun,
    private readonly services: NodeServices,
    /** Null: no node has hooks. */
    private readonly hooks: NodeHooks | null = null,
  ) {}

  isPure({ nodeId }: NodeKey): boolean {
    const { node } = this.nodes.find(nodeId);
    return this.services.registry.executorOf(node.type).isPure(node);
  }

  /**
   * The result of a pure node, available at once. Null: it failed or has no result at once, so it is executed like any
   * other node.
   */
  executeNow({ row, view, portsWithin, signal }: Assignment): RunEvent | null {
    const { node, graph } = this.nodes.find(row.nodeId);
    const executor = this.services.registry.executorOf(node.type);
    if (this.hooks?.concern(row) === true) return null;
    try {
      const ports = portsWithin(signal);
      const outcome = executor.runNow?.({ node, graph, run: row, input: row.input, view, ports, signal });
      if (outcome === undefined || outcome instanceof Promise || outcome.type === 'waiting') return null;
      return settled(row, outcome);
    } catch {
      return null;
    }
  }

  execute(assignment: Assignment): Promise<Report> {
    const { row, signal } = assignment;
    if (this.hooks?.concern(row) !== true) return this.executeHooked(assignment);
    return this.hooks.around({ ...this.nodes.find(row.nodeId), row, signal }, (hooked) =>
      this.executeHooked({ ...assignment, row: hooked }),
    );
  }

  /** `row` has the input that hooks have changed. */
  private executeHooked({ row, view, portsWithin, signal }: Assignment): Promise<Report> {
    const { node, graph } = this.nodes.find(row.nodeId);
    const executor = this.services.registry.executorOf(node.type);
    return this.tryAgain(row, signal, async (own) => {
      const ports = portsWithin(own, row);
      const outcome = await executor.run({ node, graph, run: row, input: row.input, view, ports, signal: own });
      if (outcome.type === 'waiting') return waitingFor(row, outcome);
      return { event: settled(row, outcome) };
    });
  }

  decide({ row, portsWithin, signal }: Assignment, { iteration, current, outputs }: DecideCommand): Promise<Report> {
    const { node } = this.nodes.find(row.nodeId);
    if (node.type !== 'whileLoop') throw new Error(`${row.nodeId} is not a loop`);
    return this.tryAgain(row, signal, async (own) => {
      const state = { iteration, current, outputs };
      const answer = await this.services.condition.decide({ node, state, ports: portsWithin(own), signal: own });
      if (answer.type === 'waiting') return waitingFor(row, answer);
      return { event: { type: 'decided', key: row, iteration, continues: answer.continues } };
    });
  }

  list({ row, view, signal }: Assignment): Promise<Report> {
    const { node } = this.nodes.find(row.nodeId);
    if (node.type !== 'map') throw new Error(`${row.nodeId} is not a map`);
    return this.tryAgain(row, signal, () => {
      const items = mapItems(node.data.items, { input: row.input, view }).map(toStorableText);
      return Promise.resolve({ event: { type: 'listed', key: row, items } });
    });
  }

  /** Repeats the attempt until it succeeds or no retry is left. Throws errors that stop the whole run. */
  private async tryAgain(
    row: NodeRunRow,
    signal: AbortSignal,
    attempt: (signal: AbortSignal) => Promise<Report>,
  ): Promise<Report> {
    const { node } = this.nodes.find(row.nodeId);
    const { errorHandling, timeoutMs } = node.type === 'plugin' ? this.services.plugins.limitsOf(node) : node.data;
    const earlier: NodeError[] = [];
    for (;;) {
      try {
        return withRetryCount(await withinTime(timeoutMs, signal, attempt), earlier.length);
      } catch (thrown) {
        if (this.stopsRun(thrown)) throw thrown;
        signal.throwIfAborted();
        const error = toNodeError(thrown, row.nodeId);
        const retries = earlier.length;
        const delayMs = nextRetryMs(errorHandling, { error, isFinal: isFinalFailure(thrown), retries });
        if (delayMs === null) {
          const reported = withRetryHistory(error, errorHandling, earlier);
          return { event: { type: 'failed', key: row, error: reported, extra: retries === 0 ? {} : { retries } } };
        }
        earlier.push(error);
        await waitUnlessAborted(delayMs, systemClock, signal);
      }
    }
  }

  private stopsRun(thrown: unknown): boolean {
    if (this.run.signal.aborted || thrown instanceof LeaseLost || thrown instanceof Draining) return true;
    if (isTransient(thrown)) throw this.run.lose(thrown);
    return thrown instanceof ConversationFailed && thrown.endsJob;
  }
}

/** The report of a node that succeeded after retries includes their number. */
function withRetryCount(report: Report, retries: number): Report {
  const { event } = report;
  if (retries === 0 || event.type !== 'settled') return report;
  const { settlement } = event;
  return { event: { ...event, settlement: { ...settlement, extra: { ...settlement.extra, retries } } } };
}

function settled(key: NodeKey, { output, handles, handOn, extra }: Finished): RunEvent {
  if (output.length > LIMITS.filledLength) {
    throw new NodeFailure(`Node output exceeds ${LIMITS.filledLength} characters`, 'VALIDATION', { isFinal: true });
  }
  const settlement = { output: toStorableText(output), handles, handOn, ...toExtra(extra) };
  return { type: 'settled', key, settlement };
}

/** Removes text that Postgres cannot store. */
function toExtra(extra: Finished['extra']): Pick<Finished, 'extra'> {
  if (extra?.outputs === undefined) return extra === undefined ? {} : { extra };
  const outputs = Object.entries(extra.outputs).map(([name, text]) => [name, toStorableText(text)] as const);
  return { extra: { ...extra, outputs: Object.fromEntries(outputs) } };
}

function waitingFor(key: NodeKey, waits: Waiting): Report {
  return { event: { type: 'waiting', key }, waits };
}

/** Limits the time of an attempt. Waits for people and for isolated calls are not part of it. */
async function withinTime(
  timeoutMs: number | undefined,
  signal: AbortSignal,
  attempt: (signal: AbortSignal) => Promise<Report>,
): Promise<Report> {
  if (timeoutMs === undefined) return attempt(signal);
  const late = new AbortController();
  const timer = systemClock.after(timeoutMs, () => {
    late.abort(new NodeFailure(`Node timed out after ${timeoutMs}ms`, 'TIMEOUT'));
  });
  try {
    return await attempt(AbortSignal.any([signal, late.signal]));
  } catch (thrown) {
    if (late.signal.aborted && !signal.aborted) throw late.signal.reason;
    throw thrown;
  } finally {
    timer.cancel();
  }
}
