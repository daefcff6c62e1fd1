import { isOpen } from '#tools';

import type { AnswerOutput } from './answer-output.js';
import type { AnswerFormat } from './answer-part.js';
import { type CallSecrets, CallText, inlineInterrupted, refusedStatuses, type SeenCall } from './call-text.js';

interface StreamedCall {
  /** The number of the call in the response; null: the client has received nothing of the call. */
  number: number | null;
  isDone: boolean;
}

/** The calls of a response. Sends the start and the end of each call once. */
export class StreamedCalls {
  private readonly calls = new Map<string, StreamedCall>();
  private readonly text: CallText;
  private count = 0;

  constructor(
    private format: AnswerFormat,
    secrets: CallSecrets,
    private readonly output: AnswerOutput,
  ) {
    this.text = new CallText(secrets);
  }

  /** Set the format before the first tool call is streamed. */
  useFormat(format: AnswerFormat): void {
    this.format = format;
  }

  /** Takes a state of a call; may be called again with the same state. */
  take(call: SeenCall): void {
    const streamed = this.streamedOf(call);
    if (streamed.isDone) return;
    const isSettled = !isOpen(call.status);
    const hasBegun = isSettled ? !refusedStatuses.has(call.status) : call.status === 'running';
    if (hasBegun && streamed.number === null) this.start(streamed, call);
    if (isSettled) this.finish(streamed, call);
  }

  /** Ends the open calls, because the response ends. */
  close(): void {
    if (this.format !== 'inline') return;
    for (const streamed of this.calls.values()) {
      if (!streamed.isDone) this.output.block(inlineInterrupted(this.numberOf(streamed)));
    }
  }

  private streamedOf({ round, item }: SeenCall): StreamedCall {
    const key = `${round}:${item.id}`;
    const streamed = this.calls.get(key) ?? { number: null, isDone: false };
    this.calls.set(key, streamed);
    return streamed;
  }

  private start(streamed: StreamedCall, call: SeenCall): void {
    const number = this.numberOf(streamed);
    if (this.format === 'inline') this.output.block(this.text.inlineStart(number, call));
    if (this.format === 'openai') this.output.comment(`running ${call.item.name}`);
  }

  private finish(streamed: StreamedCall, call: SeenCall): void {
    streamed.isDone = true;
    if (this.format === 'none') this.output.paragraph();
    if (this.format === 'inline') this.output.block(this.text.inlineDone(this.numberOf(streamed), call));
    if (this.format === 'open-webui') this.output.block(this.text.openWebUi(call));
  }

  private numberOf(streamed: StreamedCall): number {
    streamed.number ??= ++this.count;
    return streamed.number;
  }
}

/** Separates text that was withdrawn after it was sent from its replacement. */
const RESTARTED = '\n\n[restarted]\n\n';

/**
 * The text that a client has received. A client cannot delete text that the server withdraws. So while the new text repeats the withdrawn
 * one, nothing is sent; at the first difference, the whole new text is sent. Each method returns the text to send now. Pure.
 */
export class StreamedText {
  /** The text that the client has. */
  private sent = '';
  /** Where the withdrawn part of `sent` begins; null: no part is withdrawn. */
  private cut: number | null = null;
  /** How much of the withdrawn part the new text has repeated. */
  private repeated = 0;

  add(text: string): string {
    const { cut } = this;
    if (cut === null) {
      this.sent += text;
      return text;
    }
    const same = sameLength(this.sent, cut + this.repeated, text);
    this.repeated += same;
    if (cut + this.repeated === this.sent.length) {
      this.cut = null;
      return this.add(text.slice(same));
    }
    return same === text.length ? '' : this.restart(cut, text.slice(same));
  }

  /** Withdraws the text beyond `length`. */
  withdraw(length: number): void {
    if (this.cut !== null && length > this.cut) this.repeated = Math.min(this.repeated, length - this.cut);
    else if (length < this.sent.length) {
      this.cut = length;
      this.repeated = 0;
    }
  }

  /** The text is complete. A withdrawn part that it has not repeated does not belong to it. */
  settle(): string {
    return this.cut === null ? '' : this.restart(this.cut, '');
  }

  /** Starts a new text after the sent one. */
  clear(): void {
    this.sent = '';
    this.cut = null;
  }

  private restart(cut: number, rest: string): string {
    const text = this.sent.slice(cut, cut + this.repeated) + rest;
    this.sent = this.sent.slice(0, cut) + text;
    this.cut = null;
    return RESTARTED + text;
  }
}

/** How many units of `text` match `whole` from `at` on. */
function sameLength(whole: string, at: number, text: string): number {
  if (whole.startsWith(text, at)) return text.length;
  let same = 0;
  while (at + same < whole.length && whole.charCodeAt(at + same) === text.charCodeAt(same)) same++;
  return same;
}
