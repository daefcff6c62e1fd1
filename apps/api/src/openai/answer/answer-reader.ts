import {
  isDelta,
  isTerminal,
  type JobEvent,
  type JobKind,
  type JobSnapshot,
  type JobStatus,
  statusAfter,
  type SubJobInterrupt,
} from '#jobs';
import { isOpen, runArguments, subJobPrefix, type ToolCallStatus, toToolCallItem } from '#tools';

import type { ViewedItem } from '../../streams/viewed-item.js';
import { AnswerOutput } from './answer-output.js';
import {
  type AnswerFinish,
  type AnswerFormat,
  type AnswerPart,
  type AnswerUsage,
  type ClientToolCall,
  noUsage,
  rest,
  sum,
} from './answer-part.js';
import { answerError, AnswerRequests } from './answer-requests.js';
import type { CallSecrets, SeenCall } from './call-text.js';
import { StreamedCalls, StreamedText } from './streamed-calls.js';

/** Which part of a job a response covers, and how it is formatted. */
export interface AnswerTerms {
  readonly format: AnswerFormat;
  readonly kind: JobKind;
  /** Rounds up to this one belong to earlier responses of the job. 0: there are none. */
  readonly afterRound: number;
  /** For a client that attaches late: everything up to this event is sent in one piece. 0: the client missed nothing. */
  readonly catchUpTo: number;
  readonly secrets: CallSecrets;
}

type Delta = Extract<JobEvent, { type: 'text-delta' | 'reasoning-delta' }>;
type RoundFinished = Extract<JobEvent, { type: 'round-finished' }>;

/**
 * Builds a response from the feed of a job. The feed yields the events after the response began, and snapshots at any time. There is one
 * reader for each client. The class only changes its own state. After it has returned the end, it returns nothing.
 */
export class AnswerReader {
  private readonly output: AnswerOutput;
  private readonly calls: StreamedCalls;
  /** For a chat, the text of its open round; for a workflow, its content. */
  private readonly text = new StreamedText();
  private readonly requests = new AnswerRequests();
  private readonly announced = new Set<string>();
  /** Calls of this response that are not settled, in the order of the model. */
  private readonly openCalls = new Map<string, string>();
  /** The open calls that run as sub-jobs. */
  private readonly subJobs = new Set<string>();
  /** Calls that a client is asked to run. */
  private readonly clientCalls = new Set<string>();
  private status: JobStatus | undefined;
  /** The number of the last event that was read. */
  private seq = 0;
  /** The last complete round. */
  private lastRound: number;
  private finishReason = 'stop';
  private usage = noUsage;
  /** Whether `usage` already includes the tokens of the choice of an agent. */
  private choiceCounted = false;
  private begun = false;
  private over = false;

  constructor(private readonly terms: AnswerTerms) {
    this.output = new AnswerOutput(terms.catchUpTo > 0);
    this.calls = new StreamedCalls(terms.format, terms.secrets, this.output);
    this.lastRound = terms.afterRound;
  }

  /** Whether the model or a tool has started. From then on the client gets a response, even if the job fails. */
  get hasBegun(): boolean {
    return this.begun;
  }

  /** Whether the end of the response was returned. */
  get isOver(): boolean {
    return this.over;
  }

  /** The ids of the interrupts that people must decide before the job continues, in the order in which they were opened. */
  get waitsFor(): readonly string[] {
    return this.requests.idsOf({ clients: !this.isStrict });
  }

  /** Whether a child job is running: this job's events do not contain the requests of child jobs. */
  get hasSubJobs(): boolean {
    return !this.over && this.subJobs.size > 0;
  }

  /** Sets the format of a response whose agent the job chose. Call it before the first call of that agent is taken. */
  useFormat(format: Exclude<AnswerFormat, 'openai'>): void {
    this.calls.useFormat(format);
  }

  /** Replaces all open requests of sub-jobs. */
  takeOfSubJobs(requests: readonly SubJobInterrupt[]): readonly AnswerPart[] {
    this.requests.replaceOfSubJobs(this.hasSubJobs ? requests : []);
    if (!this.over) this.announce();
    return this.output.take();
  }

  /** Returns the next parts after a step for each call, because the text of a call can take 100 ms. Call no other method between the steps. */
  *take(item: ViewedItem): Generator<void, readonly AnswerPart[], undefined> {
    if (item.type === 'snapshot') {
      if (!this.over) yield* this.takeSnapshot(item.snapshot);
    } else if (item.type === 'events') {
      for (const event of item.events) {
        if (this.over) break;
        this.takeEvent(event);
        if (event.type === 'tool-call' || event.type === 'tool-call-updated') yield;
      }
    }
    return this.output.take();
  }

  private get isStrict(): boolean {
    return this.terms.format === 'openai';
  }

  private takeEvent(event: JobEvent): void {
    this.status = statusAfter(event) ?? this.status;
    this.requests.take(event);
    if (event.type === 'job-finished') {
      const { status, reason, usage } = event.body;
      const { promptTokens, completionTokens } = usage;
      if (!this.isChat) this.usage = { ...this.usage, promptTokens, completionTokens };
      this.finish(status, reason);
      return;
    }
    if (isDelta(event)) this.takeDelta(event);
    else if (event.type === 'round-restarted') this.withdraw(event.body);
    else if (event.type === 'round-finished') this.takeRound(event);
    else if (event.type === 'agent-selected') {
      const { usage, usageEstimated = false } = event.body;
      if (usage !== undefined) this.countChoice({ ...usage, estimated: usageEstimated });
    } else if (event.type === 'tool-call' || event.type === 'tool-call-updated') {
      const { round, internalStatus, call: item } = event.body;
      // The event was written with the status of the ledger's row.
      this.takeCall({ round, status: internalStatus as ToolCallStatus, item });
    } else if (event.type === 'interrupt-opened' && event.body.kind === 'client_tool') {
      const { callId } = event.body;
      if (callId !== undefined) this.clientCalls.add(callId);
    }
    this.lookAround(event.seq);
  }

  private get isChat(): boolean {
    return this.terms.kind === 'chat';
  }

  private isEarlier(round: number): boolean {
    return round <= this.terms.afterRound;
  }

  private takeDelta({ type, body }: Delta): void {
    if (this.isEarlier(body.round)) return;
    this.begun = true;
    if (type === 'text-delta' && body.offset !== undefined) this.output.say(this.text.add(body.text));
  }

  private withdraw({ round, contentLength }: { readonly round: number; readonly contentLength: number }): void {
    if (this.isEarlier(round)) return;
    this.text.withdraw(this.isChat ? 0 : contentLength);
  }

  private takeRound({ body }: RoundFinished): void {
    if (this.isEarlier(body.round)) return;
    const usage = { ...body.usage, estimated: body.usageEstimated === true };
    if (this.isChat) this.endRound({ number: body.round, finishReason: body.finishReason, usage });
    else this.usage = { ...this.usage, estimated: this.usage.estimated || usage.estimated };
  }

  private endRound(round: {
    readonly number: number;
    readonly finishReason: string;
    readonly usage: AnswerUsage;
  }): void {
    this.output.say(this.text.settle());
    this.text.clear();
    this.lastRound = round.number;
    this.finishReason = round.finishReason;
    this.usage = sum(this.usage, round.usage);
  }

  /** Adds the tokens of the choice of an agent, once. Every response of the job has the same agent, so only the first one counts them. */
  private countChoice({ promptTokens, completionTokens, estimated }: AnswerUsage): void {
    if (this.choiceCounted || this.terms.afterRound > 0) return;
    this.choiceCounted = true;
    this.usage = sum(this.usage, { promptTokens, completionTokens, estimated });
  }

  private takeCall(call: SeenCall): void {
    if (this.isEarlier(call.round)) return;
    this.begun = true;
    const { id, name } = call.item;
    const key = `${call.round}:${id}`;
    if (isOpen(call.status)) this.openCalls.set(key, id);
    else this.openCalls.delete(key);
    if (call.status === 'running' && name.startsWith(subJobPrefix)) this.subJobs.add(key);
    else this.subJobs.delete(key);
    if (this.subJobs.size === 0) this.requests.replaceOfSubJobs([]);
    if (!this.isStrict || !this.clientCalls.has(id)) this.calls.take(call);
  }

  private *takeSnapshot(snapshot: JobSnapshot): Generator<void, void, undefined> {
    this.status = snapshot.status;
    this.begun ||= snapshot.reasoning.length > lengthOf(snapshot.rounds);
    this.requests.replace(snapshot.interrupts);
    for (const { byClient, callId } of snapshot.calls) if (byClient) this.clientCalls.add(callId);
    if (this.isChat) yield* this.takeRounds(snapshot);
    else {
      yield* this.takeStoredCalls(snapshot.calls);
      this.usage = snapshot.usage;
      this.takeWhole(snapshot.content);
    }
    if (this.over) return;
    if (isTerminal(snapshot.status)) this.finish(snapshot.status, snapshot.reason);
    else this.lookAround(snapshot.seq);
  }

  private *takeRounds({ rounds, calls, content, usage }: JobSnapshot): Generator<void, void, undefined> {
    const choice = rest(usage, rounds);
    if (choice.promptTokens + choice.completionTokens > 0) this.countChoice(choice);
    let end = 0;
    for (const round of rounds) {
      end += round.text.length;
      if (this.isEarlier(round.number)) continue;
      if (round.number > this.lastRound) {
        this.takeWhole(round.text);
        this.endRound(round);
      }
      const ofRound = calls.filter((call) => call.round === round.number);
      yield* this.takeStoredCalls(ofRound);
      if (this.pausedIn(ofRound)) return;
    }
    this.takeWhole(content.slice(end));
  }

  /** Takes the current text as a whole, whatever part was already sent. */
  private takeWhole(text: string): void {
    this.text.withdraw(0);
    if (text === '') return;
    this.begun = true;
    this.output.say(this.text.add(text));
  }

  private *takeStoredCalls(calls: JobSnapshot['calls']): Generator<void, void, undefined> {
    for (const call of calls) {
      const status = call.status as ToolCallStatus; // the table's CHECK allows no other
      this.takeCall({ round: call.round, status, item: toToolCallItem({ ...call, status }) });
      yield;
    }
  }

  /** In the format `openai`, a round whose client calls are settled ended an earlier response, because the client had to receive the calls first. */
  private pausedIn(calls: JobSnapshot['calls']): boolean {
    const clients = calls.filter(({ byClient }) => byClient);
    const isSettled = calls.every(({ status }) => !isOpen(status as ToolCallStatus)); // the table's CHECK allows no other
    if (!this.isStrict || clients.length === 0 || !isSettled) return false;
    this.pause(clients.map((call) => ({ id: call.callId, name: call.name, arguments: runArguments(call).arguments })));
    return true;
  }

  /** Runs after each item up to `seq`: announces open requests, and pauses if the job only waits for this client. */
  private lookAround(seq: number): void {
    this.seq = seq;
    if (seq >= this.terms.catchUpTo) this.output.release();
    this.announce();
    if (!this.isStrict || this.status !== 'waiting' || this.waitsFor.length > 0) return;
    const asked = this.requests.clientCalls;
    const calls = [...this.openCalls.values()].map((id) => asked.get(id));
    const known = calls.filter((call) => call !== undefined);
    if (known.length > 0 && known.length === calls.length) this.pause(known);
  }

  private announce(): void {
    if (this.seq < this.terms.catchUpTo) return;
    for (const id of this.waitsFor) {
      if (this.announced.has(id)) continue;
      this.announced.add(id);
      this.output.comment(`waiting approval ${id}`);
    }
  }

  private pause(calls: readonly ClientToolCall[]): void {
    this.over = true;
    this.output.end(calls, { type: 'end', finishReason: 'tool_calls', usage: this.usage, error: null });
  }

  private finish(status: JobStatus, reason: string | null): void {
    this.over = true;
    if (status === 'completed') this.output.say(this.text.settle());
    this.calls.close();
    const finishReason = this.isChat ? toFinish(this.finishReason) : 'stop';
    const isEmpty = this.output.isEmpty && finishReason === 'stop';
    const error = answerError({ status, reason, isStrict: this.isStrict, isEmpty });
    this.output.end([], { type: 'end', finishReason, usage: this.usage, error });
  }
}

function lengthOf(rounds: JobSnapshot['rounds']): number {
  return rounds.reduce((sum, { reasoning }) => sum + reasoning.length, 0);
}

function toFinish(reason: string): AnswerFinish {
  return reason === 'length' || reason === 'content_filter' ? reason : 'stop';
}
