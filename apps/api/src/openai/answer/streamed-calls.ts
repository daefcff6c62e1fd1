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
