import type { ChatMessage } from '#models';
import { defined } from '#platform';

import type { WorkflowGraph } from '../definition/graph.js';
import { reachableFrom } from '../definition/loop-bodies.js';
import { EngineState, type Halt } from './engine-state.js';
import type { Container, LiveRun } from './live-run.js';
import { LoopRun } from './loop-run.js';
import { MapRun } from './map-run.js';
import type { ScopeView } from './node-executor.js';
import { isFinished, type NodeKey, type NodeRunRow } from './node-run.js';
import { Rows } from './rows.js';
import type { RunCommand, RunError, RunResult } from './run-command.js';
import type { RunEvent } from './run-event.js';
import type { ResumeFrom, RunPlan } from './run-plan.js';
import { Scope, type ScopeEnd, type ScopeOptions, type TakenOver } from './scope.js';
import { ScopeMemory } from './scope-memory.js';
import { SubflowRun } from './subflow-run.js';

/**
 * A run of a workflow: takes events and returns commands. It has no clock, no randomness and no I/O. Its state is never stored as a whole: the plan
 * and the stored rows rebuild it after a crash at any point.
 */
export class WorkflowRun {
  private readonly state: EngineState;
  private readonly top: Scope;
  private isEnded = false;

  /** `rows`: the node runs that earlier leases stored, in any order; none for a new job. */
  constructor(
    readonly plan: RunPlan,
    rows: readonly NodeRunRow[] = [],
  ) {
    this.state = new EngineState(new Rows(rows), plan.maxSteps);
    this.top = new Scope({
      state: this.state,
      graph: plan.graph,
      level: null,
      owner: null,
      memory: toMemory(plan),
      prefix: '',
      path: [],
      iteration: [],
      depth: 0,
      containerOf: (run, around) => this.containerOf(run, around),
      onEnd: (end) => {
        this.end(resultOf(this.top, end));
      },
    });
  }

  /** Begins the run, or continues where the earlier lease ended. Called once, before any event but `exhausted`. */
  start(): readonly RunCommand[] {
    const { input, graph, resumeFrom } = this.plan;
    if (resumeFrom === undefined) this.top.enter(input);
    else this.top.takeOver(toTakenOver(graph, input, resumeFrom));
    this.state.drain();
    this.state.haltIfCut(this.top.unfinished());
    this.state.slots.sortResumed();
    return this.followUp();
  }

  /** Handles an event and returns the commands that follow from it. */
  handle(event: RunEvent): readonly RunCommand[] {
    if (this.isEnded) return [];
    this.apply(event);
    return this.followUp();
  }

  /** Returns whether no node runs, and none can run before an event arrives from outside. */
  get resting(): boolean {
    return !this.isEnded && this.state.slots.areIdle;
  }

  /** How many nodes have been executed, including those under earlier leases. */
  get steps(): number {
    return this.state.steps;
  }

  /** Returns what a running node sees: the same object for all nodes of a wave. */
  viewOf(key: NodeKey): ScopeView | undefined {
    const run = this.state.find(key);
    return run?.container?.kept ?? run?.scope.memory;
  }

  private apply(event: RunEvent): void {
    switch (event.type) {
      case 'settled':
      case 'failed':
      case 'decided':
      case 'listed':
      case 'waiting':
      case 'resumed': {
        const run = this.state.find(event.key);
        if (run !== undefined) this.report(run, event);
        return;
      }
      case 'exhausted':
        this.state.slots.isPaused = true;
        return;
      case 'stopped':
        this.state.halt = { status: 'failed', code: event.code, message: event.message };
        return;
      case 'cancelled':
        this.state.halt = CANCELLED;
        return;
    }
  }

  /** Handles an event of one node run. Only a run that has a slot, or waits, can have caused one. */
  private report(run: LiveRun, event: Extract<RunEvent, { readonly key: NodeKey }>): void {
    if (run.slot !== 'taken' && run.slot !== 'waiting') return;
    if ('input' in event) run.row = { ...run.row, input: event.input };
    switch (event.type) {
      case 'settled':
        if (run.container === null) this.state.complete(run, event.settlement);
        return;
      case 'failed':
        this.state.fail(run, event);
        return;
      case 'decided':
        run.container?.decided?.(event.iteration, event.continues);
        return;
      case 'listed':
        run.container?.listed?.(event.items);
        return;
      case 'waiting':
        this.state.slots.wait(run);
        if (run.row.status !== 'waiting') this.state.change(run, { status: 'waiting' });
        return;
      case 'resumed':
        this.state.slots.resume(run);
        return;
    }
  }

  private followUp(): readonly RunCommand[] {
    const commands = this.state.followUp();
    const { halt } = this.state;
    if (halt === null || this.isEnded) return commands;
    return [...commands, ...this.stop(halt)];
  }

  /** Ends the run, whatever state its nodes have. */
  private stop(halt: Halt): readonly RunCommand[] {
    this.state.cancel(this.top.unfinished());
    this.end(haltedResult(this.top, halt));
    return this.state.takeCommands();
  }

  private end(result: RunResult): void {
    this.isEnded = true;
    this.state.end(result);
  }

  /** A container that finished in an earlier lease is not rebuilt, except a loop: later nodes read its results. */
  private containerOf(run: LiveRun, around: ScopeOptions): Container | null {
    const { node } = run;
    if (node.type === 'whileLoop') return new LoopRun(run, node, around);
    if (isFinished(run.row.status)) return null;
    if (node.type === 'map') return new MapRun(run, node, around);
    if (node.type === 'subflow') return new SubflowRun(run, node, { ...around, subflows: this.plan.subflows });
    return null;
  }
}

const CANCELLED: Halt = { status: 'cancelled', code: 'cancelled', message: 'Workflow cancelled' };

function toMemory(plan: RunPlan): ScopeMemory {
  const { graph, sessionId, inputs = new Map(), attachments, history, input, resumeFrom } = plan;
  const facts = { workflowName: graph.name, sessionId, inputs, attachments };
  return ScopeMemory.of(facts, resumeFrom?.session ?? [...history, { role: 'user', content: input }]);
}

/** Returns what this run takes over from an earlier one: all nodes that do not come after a node that runs again. */
function toTakenOver(graph: WorkflowGraph, text: string, resumeFrom: ResumeFrom): TakenOver {
  const { startNodeId, input, finished, pending, session } = resumeFrom;
  const forced = [...new Set([startNodeId, ...pending])].filter((nodeId) => isOnTop(graph, nodeId));
  const again = reachableFrom(forced, graph.outgoing);
  return {
    again,
    forced,
    finished: finished.filter(({ nodeId }) => !again.has(nodeId) && isOnTop(graph, nodeId)),
    given: input === null ? new Map() : new Map([[startNodeId, input]]),
    text,
    isInSession: session !== null,
  };
}

function isOnTop(graph: WorkflowGraph, nodeId: string): boolean {
  return graph.nodes.has(nodeId) && !graph.owners.has(nodeId);
}

/** Returns the result of a run whose top scope has ended. */
export function resultOf(top: Scope, end: ScopeEnd): RunResult {
  if (end.type === 'failed') return unfinished(top, 'failed', toRunError(end));
  const { finalOutput } = top;
  return {
    ...summary(top),
    status: 'completed',
    success: true,
    output: finalOutput,
    finalOutput,
    sessionMessages: closed(top.memory.session, finalOutput),
    error: null,
  };
}

/** The result of a run that was halted. */
export function haltedResult(top: Scope, { status, code, message }: Halt): RunResult {
  return unfinished(top, status, { message, code, nodeId: null, nodeLabel: null, nodeType: null });
}

function unfinished(top: Scope, status: 'failed' | 'cancelled', error: RunError): RunResult {
  const sessionMessages = [...top.memory.session];
  return { ...summary(top), status, success: false, output: '', finalOutput: '', sessionMessages, error };
}

function summary(top: Scope): Pick<RunResult, 'nodeOutputs' | 'executionOrder' | 'finalNodeId' | 'lastActiveNodeId'> {
  const executionOrder = [...top.outputs.keys()];
  const last = executionOrder.at(-1) ?? null;
  return { nodeOutputs: Object.fromEntries(top.outputs), executionOrder, finalNodeId: last, lastActiveNodeId: last };
}

function toRunError({ failure, run }: Extract<ScopeEnd, { type: 'failed' }>): RunError {
  const { message, code, statusCode, retry } = failure.error;
  return {
    message,
    code,
    nodeId: run?.node.id ?? null,
    nodeLabel: run?.node.label ?? null,
    nodeType: run?.node.type ?? null,
    ...defined({ statusCode, retry }),
  };
}

/** The conversation ends with the final output. */
function closed(session: readonly ChatMessage[], text: string): readonly ChatMessage[] {
  const last = session.at(-1);
  if (text === '' || (last?.role === 'assistant' && last.content === text)) return [...session];
  return [...session, { role: 'assistant', content: text }];
}
