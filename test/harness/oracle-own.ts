import { ConversationFailed, repairConversation, toolLoop } from '#chat';
import type { JobRun } from '#jobs';
import { type Model, ModelError, type ModelPart, type ModelRequest } from '#models';
import { ManualClock, systemClock } from '#platform';

import type { LoopCall, LoopReply } from '../../libs/chat/src/loop/loop-step.js';
import { unknownTool } from '../../libs/chat/src/nodes/node-loops.service.js';
import { parseDocument } from '../../libs/workflows/src/definition/document.js';
import { toGraph, type WorkflowGraph } from '../../libs/workflows/src/definition/graph.js';
import type {
  Conversed,
  Conversing,
  NodePorts,
  PersonAnswer,
  Question,
  ScopeView,
} from '../../libs/workflows/src/engine/node-executor.js';
import type { NodeKey, NodeRunRow } from '../../libs/workflows/src/engine/node-run.js';
import type { RunCommand, RunResult } from '../../libs/workflows/src/engine/run-command.js';
import type { RunEvent } from '../../libs/workflows/src/engine/run-event.js';
import type { RunPlan } from '../../libs/workflows/src/engine/run-plan.js';
import { WorkflowRun } from '../../libs/workflows/src/engine/workflow-run.js';
import { createNodeRegistry } from '../../libs/workflows/src/nodes/create-node-registry.js';
import { LoopCondition } from '../../libs/workflows/src/nodes/loop-condition.js';
import { PlanNodes } from '../../libs/workflows/src/run/locate-node.js';
import type { Report } from '../../libs/workflows/src/run/node-report.js';
import type { NodeServices } from '../../libs/workflows/src/run/node-services.js';
import { type Assignment, NodeWork } from '../../libs/workflows/src/run/node-work.js';
import {
  DEFAULT_MODEL,
  type ModelCall,
  type Played,
  PROMPT,
  toCall,
  toText,
  withoutRepeats,
  type World,
} from './oracle-world.js';
import { offer, USAGE } from './scripted-loop.js';

/** Runs a definition by our engine and executors, without a database: the world answers their external calls. */
export async function runHere(document: object, world: World): Promise<Played> {
  const plan: RunPlan = {
    graph: graphOf(document),
    subflows: new Map(Object.entries(world.subflows ?? {}).map(([id, child]) => [id, graphOf(child)])),
    ...{ input: world.input ?? PROMPT, sessionId: 'session-1', history: [], attachments: [], maxSteps: null },
  };
  return new OwnRun(plan, world).play();
}

/** The result of our run, in the terms of the library. */
class OwnRun {
  private readonly run: WorkflowRun;
  private readonly work: NodeWork;
  private readonly controller = new AbortController();
  private readonly calls: ModelCall[] = [];
  private readonly begun: string[] = [];
  private readonly asked: Played['asked'][number][] = [];
  private readonly answers = new Map<string, Omit<Extract<PersonAnswer, { type: 'answered' }>, 'type'>>();
  private readonly events: RunEvent[] = [];
  private readonly works = new Map<string, AbortController>();
  private result: RunResult | null = null;
  private wake: () => void = () => undefined;

  constructor(
    plan: RunPlan,
    private readonly world: World,
  ) {
    this.run = new WorkflowRun(plan);
    const services = {
      registry: createNodeRegistry(systemClock),
      condition: new LoopCondition(new Map([['twice', ({ outputs }) => outputs.length < 2]])),
    };
    // The engine reads only the signal of the run and only these services.
    this.work = new NodeWork(
      new PlanNodes(plan),
      { signal: this.controller.signal } as JobRun,
      services as unknown as NodeServices,
    );
  }

  async play(): Promise<Played> {
    this.execute(this.run.start());
    while (this.result === null) {
      if (this.events.length === 0) await new Promise<void>((resolve) => (this.wake = resolve));
      for (const event of this.events.splice(0)) this.execute(this.run.handle(event));
    }
    this.controller.abort(new Error('the run has ended'));
    return this.toPlayed(this.result);
  }

  private toPlayed({ success, finalOutput, nodeOutputs, executionOrder, sessionMessages, error }: RunResult): Played {
    return {
      ...{ success, finalOutput, order: executionOrder, outputs: nodeOutputs },
      session: sessionMessages.map(toText),
      error: error === null ? null : `${error.code} at ${error.nodeId ?? ''}: ${error.message}`,
      ...{ begun: withoutRepeats(this.begun), calls: this.calls, asked: this.asked },
    };
  }

  private execute(commands: readonly RunCommand[]): void {
    for (const command of commands) {
      if (command.type === 'run') this.start(command.run, (assignment) => this.work.execute(assignment));
      if (command.type === 'decide') this.assign(command.run, (assignment) => this.work.decide(assignment, command));
      if (command.type === 'store' && command.run.status === 'active' && command.run.extra.iterations === undefined)
        this.begun.push(command.run.nodeId);
      if (command.type === 'cancel') for (const key of command.keys) this.works.get(nameOf(key))?.abort();
      if (command.type === 'end') this.result = command.result;
    }
  }

  private start(row: NodeRunRow, work: (assignment: Assignment) => Promise<Report>): void {
    this.begun.push(row.nodeId);
    this.assign(row, work);
  }

  private assign(row: NodeRunRow, work: (assignment: Assignment) => Promise<Report>): void {
    const view = this.run.viewOf(row);
    if (view === undefined) throw new Error(`not at work: ${row.nodeId}`);
    const controller = new AbortController();
    this.works.set(nameOf(row), controller);
    const signal = AbortSignal.any([controller.signal, this.controller.signal]);
    const ports = this.portsOf(row, view);
    void work({ row, view, portsWithin: () => ports, signal }).then(
      ({ event }) => {
        this.events.push(event);
        this.wake();
      },
      () => undefined, // given up
    );
  }

  private portsOf(row: NodeRunRow, view: ScopeView): NodePorts {
    const unexpected = (): Promise<never> => Promise.reject(new Error('not of the library'));
    return {
      converse: (request) => this.converse(request),
      ask: (question) => Promise.resolve({ type: 'answered', ...this.ask(row, view, question) }),
      ...{ callTool: unexpected, toolSchema: unexpected, remember: unexpected, recall: unexpected, fetch: unexpected },
      runPlugin: unexpected,
      ...{ waitFor: unexpected, warn: () => undefined },
      ...{ branchStarted: () => undefined, branchFinished: () => undefined },
      modelTakes: () => Promise.resolve(false),
      now: () => new ManualClock().now(),
    };
  }

  /** Asks once per node run and key, also when the node is repeated. */
  private ask(row: NodeRunRow, { workflowName }: ScopeView, { key, output }: Question) {
    const name = `${nameOf(row)} ${key}`;
    const known = this.answers.get(name);
    if (known !== undefined) return known;
    this.asked.push({ nodeId: row.nodeId, input: row.input, workflowName });
    const { action, data } = this.world.person?.(row.nodeId, output) ?? { action: 'approve' };
    const answer = { action, data };
    this.answers.set(name, answer);
    return answer;
  }

  /** The tool loop of all conversations, without storage. */
  private async converse(request: Conversing): Promise<Conversed> {
    const { messages, model, tools, maxIterations, signal, ...rest } = request;
    const known = Object.keys(this.world.tools ?? {});
    const loop = toolLoop({
      ...rest,
      ...{ model: this.model, modelName: model ?? DEFAULT_MODEL, messages: repairConversation(messages), rounds: [] },
      offered: known.filter((name) => tools.includes('*') || tools.includes(name)).map(offer),
      unknownTool,
      limits: { ...limits, maxRounds: maxIterations },
      signal: signal ?? this.controller.signal,
    });
    let last = { text: '', captured: undefined as string | undefined };
    for (let step = await loop.next(); ;) {
      if (step.done === true) {
        if (step.value.type === 'finished')
          return { type: 'answered', text: last.text, captured: last.captured ?? null };
        if (step.value.type === 'stopped' && step.value.code === 'round_limit')
          return { type: 'limit', text: last.text };
        throw step.value.type === 'stopped' ? ConversationFailed.of(step.value) : new Error('no node may wait here');
      }
      if (step.value.type === 'round-finished') last = { text: step.value.text, captured: step.value.captured };
      step = await loop.next(step.value.type === 'run-calls' ? this.resultsOf(step.value) : undefined);
    }
  }

  private resultsOf({ calls }: { readonly calls: readonly LoopCall[] }): LoopReply {
    const results = calls.map(({ ordinal, name, arguments: args }) => {
      const text = this.world.tools?.[name]?.(JSON.parse(args)) ?? '';
      return { ordinal, status: 'completed' as const, text };
    });
    return { results };
  }

  private readonly model: Model = { stream: (request, signal) => this.stream(request, signal) };

  private async *stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<readonly ModelPart[]> {
    const { model, messages, tools = [], parameters } = request;
    const { temperature = null, max_tokens: maxTokens = null } = parameters ?? {};
    const most = { temperature: numberOf(temperature), maxTokens: numberOf(maxTokens) };
    const raw = { model, messages, tools, ...most };
    const call = toCall(raw);
    this.calls.push(call);
    const { text, calls = [], fail } = await this.world.reply(call, raw);
    signal.throwIfAborted();
    if (fail !== undefined) {
      throw new ModelError({ ...fail, code: 'model_error', retryable: false, afterFirstByte: false });
    }
    const asked = calls.map((one, index) => ({ ...one, callId: `call_${index}` }));
    yield [
      ...(text === '' ? [] : [{ type: 'text', text } as const]),
      ...(asked.length === 0 ? [] : [{ type: 'tool-calls', calls: asked } as const]),
      { type: 'finish', finishReason: asked.length === 0 ? 'stop' : 'tool_calls', usage: USAGE },
    ];
  }
}

const limits = {
  lastRound: 'like-others',
  maxToolCallsPerRound: 100,
  maxOutputBytes: 1_000_000,
  maxRestartsPerRound: 0,
} as const;

function nameOf({ nodeId, iteration }: NodeKey): string {
  return JSON.stringify([nodeId, iteration]);
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}

function graphOf(document: object): WorkflowGraph {
  const parsed = parseDocument(document);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.faults));
  return toGraph(parsed.document);
}
