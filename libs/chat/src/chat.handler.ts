import { Injectable } from '@nestjs/common';

import { JobCloser } from '#approvals';
import { endsWith, type JobHandler, type JobOutcome, type JobRun } from '#jobs';
import { isProviderDown } from '#models';
import { AppError, defined } from '#platform';
import { type LedgerCall, type OfferedTool, ToolCatalog, toToolCallItem } from '#tools';

import { type Acting, ActingAgents } from './agents/acting-agents.service.js';
import { instructed } from './agents/apply-agent.js';
import { ROUTING_ROUND } from './agents/route-to-agent.js';
import { callThatEndsJob } from './calls/call-that-ends-job.js';
import { ConversationCalls } from './calls/conversation-calls.js';
import type { JobCalls } from './calls/job-calls.js';
import { newCallId } from './calls/new-call-id.js';
import { outputReaderOf } from './calls/output-reader-of.js';
import { requesterOf } from './calls/requester-of.js';
import { routeContext } from './calls/route-context.js';
import { UnknownCalls } from './calls/unknown-calls.js';
import { ExternalChats, type ExternalQuestion } from './external/external-chats.js';
import { ExternalRun } from './external/external-run.js';
import { buildHistory } from './history/build-history.js';
import { type Conversation, ConversationRepository, EMPTY_CONVERSATION } from './history/conversation.repository.js';
import { repairConversation } from './history/repair-conversation.js';
import type { AgentPreset } from './input/agent.js';
import { type ChatInput, toChatInput } from './input/chat-input.js';
import { directCall } from './input/direct-call.js';
import type { LoopInput } from './loop/loop-step.js';
import { toLoopRounds } from './loop/to-loop-rounds.js';
import { LoopSession, type OutagePolicy, type SessionEnd } from './loop-session.js';
import { ProviderOutages } from './outages/provider-outages.service.js';
import { toolsOffered } from './tools-offered.js';

/** One run of a chat job: runs its conversation and derives the job's outcome. The thread stays valid in every case. */
class ChatSession {
  private readonly session: LoopSession;

  constructor(
    run: JobRun,
    private readonly calls: JobCalls,
    asking: OutagePolicy,
  ) {
    this.session = new LoopSession(run, calls, asking);
  }

  async answer(input: LoopInput): Promise<JobOutcome> {
    const end = await this.session.drive(input);
    switch (end.type) {
      case 'finished':
        return { status: 'completed', reason: end.reason };
      case 'waiting':
        return { status: 'waiting', interruptIds: this.calls.interruptIds };
      case 'refused':
        await this.calls.close();
        return toOutcome(end);
      case 'released':
      case 'paused':
        return toOutcome(end);
      case 'stopped':
        if (!this.calls.continuesElsewhere) {
          await this.calls.close();
          this.session.keepOpenRound(end.open);
        }
        return { status: 'failed', code: end.code, message: end.message, retryable: isRetryable(end.cause) };
    }
  }
}

function isRetryable(cause: unknown): boolean {
  return cause instanceof AppError && cause.retryable;
}

/** The outcome of a job whose session was released, paused or refused. */
function toOutcome(end: Extract<SessionEnd, { type: 'released' | 'paused' | 'refused' }>): JobOutcome {
  switch (end.type) {
    case 'released':
      return { status: 'released' };
    case 'paused':
      return { status: 'waiting', interruptIds: [end.interruptId] };
    case 'refused':
      return { status: 'failed', code: end.error.code, message: end.error.message, retryable: isRetryable(end.error) };
  }
}

/** Cleans up after an earlier worker: withdraws the text of an uncommitted round and shows calls with an unknown outcome. */
function takeOver(run: JobRun, { openRound, rounds, calls }: Conversation): void {
  run.resumeReasoningAt(rounds.reduce((sum, { reasoning }) => sum + reasoning.length, 0));
  if (openRound !== null) run.restartRound(openRound, 'worker_lost');
  for (const call of lostCalls(run, calls)) {
    const body = { round: call.round, internalStatus: call.status, call: toToolCallItem(call) };
    run.append({ events: [{ type: 'tool-call-updated', body }] });
  }
}

function lostCalls(run: JobRun, calls: readonly LedgerCall[]): readonly LedgerCall[] {
  const lost = new Set(run.takeInterrupted().map(({ round, ordinal }) => `${round}:${ordinal}`));
  return calls.filter(({ round, ordinal }) => lost.has(`${round}:${ordinal}`));
}

/** Runs chat jobs: rebuilds the conversation from rows, runs the tool loop, and stores its results. */
@Injectable()
export class ChatHandler implements JobHandler {
  readonly kind = 'chat';

  constructor(
    private readonly conversations: ConversationRepository,
    private readonly agents: ActingAgents,
    private readonly catalog: ToolCatalog,
    private readonly calls: ConversationCalls,
    private readonly unknown: UnknownCalls,
    private readonly closer: JobCloser,
    private readonly outages: ProviderOutages,
    private readonly externalChats: ExternalChats,
  ) {}

  async run(run: JobRun): Promise<JobOutcome> {
    try {
      return await this.answer(run);
    } catch (error) {
      // The error ends the job outside of the loop, so the open calls and requests must be closed here.
      if (endsWith(run, error)) {
        await run.commit();
        await this.closer.close(run.job);
        await this.externalOf(run)?.fail(error);
      }
      throw error;
    }
  }

  private async answer(run: JobRun): Promise<JobOutcome> {
    const acting = await this.acting(run);
    if ('status' in acting) return acting;
    const { agent, input } = acting;
    const [loaded, offered] = await Promise.all([this.conversationOf(run, input), this.offered(run, input)]);
    takeOver(run, loaded);
    const external = this.externalOf(run);
    const question = await external?.question(loaded);
    if (question?.type === 'skip') return { status: 'completed', reason: `skipped: ${question.why}` };
    const conversation = { ...loaded, calls: await this.unknown.decide(run, loaded.calls) };
    const outputReader = outputReaderOf(await this.catalog.of(run.job.workspaceId));
    const routed = outputReader === undefined ? offered : [...offered, outputReader];
    const calls = this.calls.open(run, routeContext(run.job, { ...input, agent }, routed), conversation.calls);
    const failure = callThatEndsJob(conversation.calls);
    if (failure !== null) {
      if (!calls.continuesElsewhere) await calls.close();
      const failed = { status: 'failed', ...failure } as const;
      return external?.deliver(failed) ?? failed;
    }
    const loop = await this.loopInput(run, { agent, input, offered, outputReader, conversation, question });
    const outcome = await new ChatSession(run, calls, this.outages.of(run, [input.providerDown, agent?.limits])).answer(
      loop,
    );
    if (outcome.status !== 'waiting' || !calls.hasUndecided) return external?.deliver(outcome) ?? outcome;
    // A tool could not report the outcome of its call. The rows are read again, and the call is decided as after a crash.
    await run.commit();
    return this.answer(run);
  }

  /** Undefined if the conversation is not in another system. */
  private externalOf(run: JobRun): ExternalRun | undefined {
    const { external, call } = toChatInput(run.job.input);
    if (external === undefined) return undefined;
    const options = { reference: external, isCall: call !== undefined, conversations: this.conversations };
    return new ExternalRun(run, this.externalChats.of(external), options);
  }

  /** The agent of the job. Choosing an agent calls a model, whose provider may be down. */
  private async acting(run: JobRun): Promise<Acting | JobOutcome> {
    const { routing, providerDown } = toChatInput(run.job.input);
    if (routing === undefined) return counted(run, await this.agents.of(run));
    const outage = this.outages.of(run, [providerDown]);
    const end = await outage.before();
    if (end !== null) return toOutcome(end);
    for (;;) {
      try {
        return counted(run, await this.agents.of(run));
      } catch (error) {
        if (!isProviderDown(error) || run.signal.aborted) throw error;
        const next = await outage.after({ failure: error, round: ROUTING_ROUND, committed: 0 });
        if (next.type === 'failed') throw next.error ?? error;
        if (next.type !== 'ask') return toOutcome(next);
      }
    }
  }

  /**
   * The stored conversation. If a job begins for the first time and its request contains the conversation, there is nothing to read. The handler
   * may run several times under one claim: if a decision arrives just before the job would wait, or if a tool could not report the outcome of
   * its call.
   */
  private conversationOf({ job, totals }: JobRun, { history, call }: ChatInput): Promise<Conversation> {
    const isNew = job.epoch === 1 && totals.rounds === 0;
    const hasNoRows = isNew && history === 'request' && call === undefined;
    return hasNoRows ? Promise.resolve(EMPTY_CONVERSATION) : this.conversations.load(job);
  }

  private async loopInput(
    run: JobRun,
    options: {
      agent: AgentPreset | null;
      input: ChatInput;
      offered: readonly OfferedTool[];
      outputReader: OfferedTool | undefined;
      conversation: Conversation;
      question: ExternalQuestion | undefined;
    },
  ): Promise<LoopInput> {
    const { agent, input, offered, outputReader, conversation, question } = options;
    const asked = question?.type === 'ask' ? question : undefined;
    const { model, modelName } = await this.modelOf(run, { agent, input });
    const own = input.history === 'request' ? input.messages : this.historyOf(input, conversation);
    const messages = asked?.messages ?? own;
    return {
      ...{ model, modelName },
      ...defined({ parameters: input.parameters, toolChoice: input.toolChoice }),
      messages: instructed(agent, repairConversation(messages)),
      rounds: toLoopRounds(conversation.rounds, conversation.calls),
      offered: asked?.withTools === false ? [] : offered,
      ...defined({ outputReader }),
      ...(input.external !== undefined && input.call === undefined ? { collectsCalls: true, newCallId } : {}),
      ...(input.client?.handedOver === undefined
        ? {}
        : { newCallId, messagesAfterRound: conversation.messagesAfterRound }),
      limits: input.call === undefined ? this.agents.limitsOf(agent, input.maxRounds) : this.singleCall(),
      signal: run.signal,
    };
  }

  private modelOf(
    { job }: JobRun,
    { agent, input: { call } }: Acting,
  ): Promise<Pick<LoopInput, 'model' | 'modelName'>> {
    if (call !== undefined) return Promise.resolve({ model: directCall(call), modelName: '' });
    return this.agents.modelOf(job, agent);
  }

  /** The limits of a single call: one round for the call, and one that ends the conversation. */
  private singleCall(): LoopInput['limits'] {
    return { ...this.agents.limitsOf(null), maxRounds: 2 };
  }

  /** If this job is a retry, the question is already part of the thread, and the unfinished response to it is left out. */
  private historyOf({ retryOf }: ChatInput, { messages, jobs }: Conversation) {
    return buildHistory(retryOf === undefined ? messages : messages.filter(({ jobId }) => jobId !== retryOf), jobs);
  }

  private async offered({ job }: JobRun, input: ChatInput): Promise<readonly OfferedTool[]> {
    return toolsOffered(input, await this.catalog.offeredTo(requesterOf(job)));
  }
}

/**
 * A claim compares the cap of an agent only if the row of the job names the agent. Otherwise the job is queued again, with the agent in its
 * row.
 */
function counted({ job }: JobRun, acting: Acting): Acting | JobOutcome {
  const { agent } = acting;
  const isCounted = agent === null || agent.maxRunningJobs === null || job.agentId !== null;
  return isCounted ? acting : { status: 'released', agentId: agent.id };
}
