import type { Response } from 'express';

import type { MemberPrincipal } from '#auth';
import type { Answer } from '#chat';
import type { FeedItem, JobEvent } from '#jobs';
import { systemClock, type Timer } from '#platform';

import { OpenAiError } from '../../errors/openai-error.js';
import type { AnswerHead } from '../answer/chunk-writer.js';

/** The client of a response, and its options. */
export interface AnswerListener {
  readonly principal: MemberPrincipal;
  readonly response: Response;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  /** Whether to cancel the job when the client disconnects. */
  readonly cancels: boolean;
  /** Aborts when this process can no longer send; the job keeps running. */
  readonly signal: AbortSignal;
}

/** One response that one client is receiving, with its time limit and the reason why it stops. */
export class ResponseSession {
  /** Why the response broke off; null: it did not, or its client has disconnected. */
  failure: unknown = null;
  /** Whether the client disconnected before the end. */
  isLeft = false;
  private readonly stopping = new AbortController();
  private readonly hold: Timer | undefined;
  private agent: string | null;
  private isAgentSent = false;
  private refusal: { readonly people: string; readonly isRefused: Promise<boolean> } | undefined;

  constructor(
    readonly answer: Answer,
    readonly listener: AnswerListener,
    maxHoldMs: number,
  ) {
    const { response, signal, stream } = listener;
    this.agent = answer.agent;
    if (!stream) {
      this.hold = systemClock.after(maxHoldMs, () => {
        this.stop(stillRunning());
      });
    }
    response.once('close', this.onClose);
    signal.addEventListener('abort', this.onAbort, { once: true });
    if (response.destroyed) this.onClose();
    if (signal.aborted) this.onAbort();
  }

  get isStopped(): boolean {
    return this.stopping.signal.aborted;
  }

  /** Aborts when nothing more may be sent. */
  get signal(): AbortSignal {
    return this.stopping.signal;
  }

  /** `model` is the agent that answers `auto`, once it is known. */
  get head(): AnswerHead {
    const { id, model } = this.answer;
    return { id: toCompletionId(id), created: toCreated(id), model: this.agent ?? model };
  }

  stop(failure: unknown = null): void {
    if (this.isStopped) return;
    this.failure = failure;
    this.stopping.abort();
  }

  /** Reads the agent that `auto` chose; `find` looks it up if the events do not name it. Returns true once, when it is known. */
  async learnAgent(item: FeedItem, find: () => Promise<string | null>): Promise<boolean> {
    if (this.answer.model !== 'auto' || this.isAgentSent) return false;
    if (item.type === 'snapshot') this.agent ??= await find();
    else for (const event of item.events) this.agent ??= agentOf(event);
    return (this.isAgentSent = this.agent !== null);
  }

  /** Whether the job must not wait for these people. Calls `ask` once for each set of requests. Only a strict response can refuse a wait. */
  async isRefused(waitsFor: readonly string[], ask: (answer: Answer) => Promise<boolean>): Promise<boolean> {
    if (this.answer.format !== 'openai' || waitsFor.length === 0) return false;
    const people = waitsFor.join(' ');
    if (this.refusal?.people !== people) this.refusal = { people, isRefused: ask(this.answer) };
    return this.refusal.isRefused;
  }

  close(): void {
    this.hold?.cancel();
    this.listener.response.off('close', this.onClose);
    this.listener.signal.removeEventListener('abort', this.onAbort);
  }

  private readonly onClose = (): void => {
    if (this.isStopped || this.listener.response.writableEnded) return;
    this.isLeft = true;
    this.stop();
  };

  private readonly onAbort = (): void => {
    this.stop(this.listener.signal.reason);
  };
}

function agentOf(event: JobEvent): string | null {
  return event.type === 'agent-selected' ? event.body.slug : null;
}

function stillRunning(): OpenAiError {
  return new OpenAiError({
    status: 504,
    message: 'The job is still running in the background',
    code: 'still_running',
  });
}

/** `chatcmpl-<12 hex>`, from the random end of the response's id. */
function toCompletionId(answerId: string): string {
  return `chatcmpl-${answerId.slice(-12)}`;
}

/** When a response began, in seconds since the epoch, read from its id (RFC 9562, section 5.7). */
function toCreated(answerId: string): number {
  return Math.floor(Number.parseInt(answerId.replaceAll('-', '').slice(0, 12), 16) / 1_000);
}
