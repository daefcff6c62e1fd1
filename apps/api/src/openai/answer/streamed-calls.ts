import { isOpen } from '#tools';

import type { AnswerOutput } from './answer-output.js';
import type { AnswerFormat } from './answer-part.js';
import { type CallSecrets, CallText, inlineInterrupted, refusedStatuses, type SeenCall } from './call-text.js';

interface StreamedCall {
  /** Its number in the response; null: nothing of it was sent. */
  number: number | null;
  isDone: boolean;
}

/** The calls of a response; the start and the end of each are sent once. */
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

  /** Call it before the first call is sent. */
  useFormat(format: AnswerFormat): void {
    this.format = format;
  }

  /** May be called again with the same call. */
  take(call: SeenCall): void {
    const streamed = this.streamedOf(call);
    if (streamed.isDone) return;
    const isSettled = !isOpen(call.status);
    const hasBegun = isSettled ? !refusedStatuses.has(call.status) : call.status === 'running';
    if (hasBegun && streamed.number === null) this.start(streamed, call);
    if (isSettled) this.finish(streamed, call);
  }

  /** The answer ends, and with it what is still open. */
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

/** Separates a text that was withdrawn after it was sent from the text that replaces it. */
const RESTARTED = '\n\n[restarted]\n\n';

/**
 * The text that a client has received. A client cannot be asked to delete withdrawn text: while the new text repeats it, nothing
 * is sent; at the first difference the whole new text is sent. Each method returns the text to send now. Pure.
 */
export class StreamedText {
  /** What the client takes for the text. */
  private sent = '';
  /** Where the withdrawn part of it begins; null: nothing is withdrawn. */
  private cut: number | null = null;
  /** The length of the withdrawn part that was repeated. */
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

  /** What lies beyond `length` is withdrawn. */
  withdraw(length: number): void {
    if (this.cut !== null && length > this.cut) this.repeated = Math.min(this.repeated, length - this.cut);
    else if (length < this.sent.length) {
      this.cut = length;
      this.repeated = 0;
    }
  }

  /** The text is complete: a withdrawn part that was not repeated by now does not belong to it. */
  settle(): string {
    return this.cut === null ? '' : this.restart(this.cut, '');
  }

  /** The sent text stays; a new text begins here. */
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
