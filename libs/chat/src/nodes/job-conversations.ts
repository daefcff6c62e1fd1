import type { JobCloser } from '#approvals';
import { Draining, endsJob, type JobRun } from '#jobs';
import { toToolCallItem } from '#tools';

import { callThatEndsJob } from '../calls/call-that-ends-job.js';
import type { ConversationNode, NodeCallingRun } from '../calls/calling-run.js';
import type { ConversationCalls } from '../calls/conversation-calls.js';
import type { JobCalls } from '../calls/job-calls.js';
import { type CallOptions, routeContext } from '../calls/route-context.js';
import type { UnknownCalls } from '../calls/unknown-calls.js';
import type { DirectCall } from '../input/direct-call.js';
import type { LoopOutcome, OpenRound } from '../loop/loop-step.js';
import { toLoopRounds } from '../loop/to-loop-rounds.js';
import { type LastRound, LoopSession } from '../loop-session.js';
import { ConversationFailed } from './conversation-failed.js';
import {
  agentOf,
  type ConversationOptions,
  type NodeCallEnd,
  type NodeConversation,
  type NodeConversationResult,
  type NodeWait,
} from './node-conversation.js';
import type {
  NodeConversationsRepository,
  ResumedConversations,
  StoredConversations,
} from './node-conversations.repository.js';
import { type NodeLoops, type NodeRequest, unknownTool } from './node-loops.service.js';

/** The services of the process that conversations of nodes use. */
export interface ConversationServices {
  readonly repository: NodeConversationsRepository;
  readonly loops: NodeLoops;
  readonly calls: ConversationCalls;
  readonly unknown: UnknownCalls;
  readonly closer: JobCloser;
}

type ConversationEnd = { readonly type: 'answered' | 'limit'; readonly last: LastRound | null } | NodeWait;

/**
 * The conversations of one workflow job, under one claim. Many may run at once; each continues after its committed rounds, however often it
 * is called: after a crash, a decision or result from outside, or a failure.
 */
export class JobConversations {
  /** Conversations that `open` has read and that have not been used yet. */
  private readonly unread: ReadonlyMap<string, StoredConversations>;
  private readonly entered = new Set<string>();
  private readonly roundsOf = new Map<number, Set<number>>();
  private readonly callIds: Set<string>;
  /** Ids of the interrupts that wait for a model provider, by node run. */
  private readonly pauses = new Map<number, Set<string>>();
  private lastRound: number;

  constructor(
    private readonly run: JobRun,
    private readonly services: ConversationServices,
    private readonly options: ConversationOptions,
    resumed: ResumedConversations,
  ) {
    this.unread = byConversation(resumed);
    this.callIds = new Set(resumed.callIds);
    this.lastRound = resumed.lastRound;
    for (const { nodeRun, number } of resumed.rounds) this.own(nodeRun, number);
  }

  /**
   * Runs a conversation until it answers or waits. `view` is the run as its node sees it: its signal stops only this conversation. Throws
   * `ConversationFailed` if the model or a limit fails it, the abort reason of the signal, and `Draining` if the process drains: then the job
   * must be released.
   */
  async converse(view: NodeCallingRun, asked: NodeConversation): Promise<NodeConversationResult> {
    const end = await this.runToEnd(view, asked);
    if (end.type === 'waiting') return end;
    const { text = '', captured = null } = end.last ?? {};
    return end.type === 'limit' ? { type: 'limit', text } : { type: 'answered', text, captured };
  }

  /** Makes a call for a node, once, by the same rules as for a call of a model. Throws like `converse`. */
  async callTool(view: NodeCallingRun, call: DirectCall): Promise<NodeCallEnd> {
    const request: NodeRequest = { model: call, messages: [], tools: [call.name], maxIterations: 1, isShown: false };
    const conversation = await this.runToEnd(view, request);
    if (conversation.type === 'waiting') return conversation;
    const end = conversation.last?.ends.get(1);
    if (end === undefined) throw new Error(`the call of node run ${view.node.nodeRun} has no end`);
    return { type: 'finished', ...end };
  }

  /** Returns the number of a round that the job makes outside of its nodes. */
  takeRound(): number {
    this.lastRound += 1;
    return this.lastRound;
  }

  /**
   * Closes the open calls of a node run that was abandoned while its job continues, their requests, and the node run's own `requests` without
   * a call.
   */
  async close(nodeRun: number, requests: readonly string[] = []): Promise<void> {
    const rounds = [...(this.roundsOf.get(nodeRun) ?? [])];
    const own = [...requests, ...(this.pauses.get(nodeRun) ?? [])];
    if (rounds.length === 0 && own.length === 0) return;
    await this.run.commit(); // a call can be closed only after its row was written
    await this.services.closer.close(this.run.job, rounds, own);
  }

  /** Closes all open calls and requests of the job, before it ends. */
  async closeAll(): Promise<void> {
    await this.run.commit();
    await this.services.closer.close(this.run.job);
  }

  private async runToEnd(view: NodeCallingRun, request: NodeRequest): Promise<ConversationEnd> {
    for (;;) {
      const { session, calls, end } = await this.drive(view, request);
      switch (end.type) {
        case 'finished':
          return { type: 'answered', last: session.last };
        case 'waiting':
          // A tool could not report the outcome of its call. The rows are read again, and the call is decided as after a crash.
          if (calls.hasUndecided) continue;
          return { type: 'waiting', interruptIds: calls.interruptIds, calls: calls.elsewhere };
        case 'paused':
          return this.pause(view, end.interruptId);
        case 'refused':
          throw new ConversationFailed(end.error, true);
        case 'released':
          throw new Draining();
        case 'stopped':
          if (end.code === 'round_limit') return { type: 'limit', last: session.last };
          throw await this.stop(view, { session, calls, end, isShown: request.isShown });
      }
    }
  }

  private async drive(view: NodeCallingRun, request: NodeRequest) {
    const committed = await this.committed(view);
    const ledger = await this.services.unknown.decide(view, committed.calls);
    const { input, routed } = await this.services.loops.inputFor(view, request, {
      options: this.options,
      rounds: toLoopRounds(committed.rounds, ledger),
      nextRound: () => this.nextRound(view.node.nodeRun),
      callIds: this.callIds,
    });
    const context = {
      ...routeContext(view.job, { ...this.options, ...layerOf(this.options, request) }, routed),
      unknownTool,
    };
    const calls = this.services.calls.open(view, context, ledger);
    const ending = callThatEndsJob(ledger);
    if (ending !== null) throw new ConversationFailed(ending, true);
    const agent = agentOf(this.options, request);
    const outage = this.services.loops.outages.of(view, [this.options.providerDown, agent?.limits]);
    const session = new LoopSession(view, calls, outage, this.callIds);
    return { session, calls, end: await session.drive(input) };
  }

  /** Only the first use takes the rows that `open` has read; later uses read again. */
  private async committed({ node }: NodeCallingRun): Promise<StoredConversations> {
    const key = keyOf(node);
    if (this.entered.has(key)) {
      await this.run.commit();
      return this.services.repository.read(this.run.job, node);
    }
    this.entered.add(key);
    return this.unread.get(key) ?? { rounds: [], calls: [] };
  }

  /** The node waits for the model provider. The wait uses neither its retries nor its timeout. */
  private pause({ node: { nodeRun } }: NodeCallingRun, interruptId: string): NodeWait {
    this.pauses.set(nodeRun, (this.pauses.get(nodeRun) ?? new Set<string>()).add(interruptId));
    return { type: 'waiting', interruptIds: [interruptId], calls: [] };
  }

  /** Closes a conversation that cannot continue, and returns the error to throw. */
  private async stop(
    view: NodeCallingRun,
    stopped: {
      readonly session: LoopSession;
      readonly calls: JobCalls;
      readonly end: Extract<LoopOutcome, { type: 'stopped' }>;
      readonly isShown: boolean;
    },
  ): Promise<unknown> {
    const { session, calls, end, isShown } = stopped;
    const { signal } = this.run;
    if (signal.aborted) {
      if (endsJob(signal.reason)) session.keepOpenRound(isShown ? end.open : withoutText(end.open));
      return signal.reason;
    }
    if (isShown) session.withdraw(end.open, view.signal.aborted ? 'node_stopped' : end.code);
    session.keepOpenRound(withoutText(end.open));
    await calls.close();
    return view.signal.aborted ? view.signal.reason : ConversationFailed.of(end);
  }

  private nextRound(nodeRun: number): number {
    const round = this.takeRound();
    this.own(nodeRun, round);
    return round;
  }

  private own(nodeRun: number, round: number): void {
    const rounds = this.roundsOf.get(nodeRun) ?? new Set();
    this.roundsOf.set(nodeRun, rounds.add(round));
  }
}

function withoutText(open: OpenRound | null): OpenRound | null {
  return open === null ? null : { ...open, text: '', reasoning: '' };
}

/** The policy layer of the agent. Its name is omitted, because only chats know their agent by name. */
function layerOf(options: ConversationOptions, asked: Pick<NodeConversation, 'agent'>): CallOptions {
  const agent = agentOf(options, asked);
  return agent === null ? {} : { agent: { name: null, toolApproval: agent.toolApproval } };
}

function byConversation({ rounds, calls }: StoredConversations): ReadonlyMap<string, StoredConversations> {
  const callsOf = Map.groupBy(calls, ({ round }) => round);
  return new Map(
    [...Map.groupBy(rounds, keyOf)].map(([key, own]) => [
      key,
      { rounds: own, calls: own.flatMap(({ number }) => callsOf.get(number) ?? []) },
    ]),
  );
}

function keyOf({ nodeRun, branch }: Pick<ConversationNode, 'nodeRun' | 'branch'>): string {
  return JSON.stringify([nodeRun, branch]);
}

/** Shows viewers the calls whose outcome is unknown because an earlier worker was lost. */
export function showLostCalls(run: JobRun, { rounds, calls }: StoredConversations): void {
  const lost = new Set(run.takeInterrupted().map(({ round, ordinal }) => `${round}:${ordinal}`));
  const nodes = new Map(rounds.map(({ number, nodeId }) => [number, nodeId]));
  for (const call of calls) {
    if (!lost.has(`${call.round}:${call.ordinal}`)) continue;
    const nodeId = nodes.get(call.round) ?? null;
    const at = nodeId === null ? {} : { nodeId };
    const body = { round: call.round, internalStatus: call.status, call: toToolCallItem(call), ...at };
    run.append({ events: [{ type: 'tool-call-updated', body }] });
  }
}
