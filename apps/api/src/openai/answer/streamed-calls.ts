import { isOpen } from '#tools';

import type { AnswerOutput } from './answer-output.js';
import type { AnswerFormat } from './answer-part.js';
import { type CallSecrets, CallText, inlineInterrupted, refusedStatuses, type SeenCall } from './call-text.js';

interface StreamedCall {
  /** Its number in the answer; null: nothing was told of it. */
  number: number | null;
  isDone: boolean;
}

/** The calls of an answer, each told as it begins and as it ends, once. */
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

  /** May be told the same again. */
  take(call: SeenCall): void {
    const told = this.toldOf(call);
    if (told.isDone) return;
    const isSettled = !isOpen(call.status);
    const hasBegun = isSettled ? !refusedStatuses.has(call.status) : call.status === 'running';
    if (hasBegun && told.number === null) this.start(told, call);
    if (isSettled) this.finish(told, call);
  }

  /** The answer ends, and with it what is still open. */
  close(): void {
    if (this.format !== 'inline') return;
    for (const told of this.calls.values()) {
      if (!told.isDone) this.output.block(inlineInterrupted(this.numberOf(told)));
    }
  }

  private toldOf({ round, item }: SeenCall): StreamedCall {
    const key = `${round}:${item.id}`;
    const told = this.calls.get(key) ?? { number: null, isDone: false };
    this.calls.set(key, told);
    return told;
  }

  private start(told: StreamedCall, call: SeenCall): void {
    const number = this.numberOf(told);
    if (this.format === 'inline') this.output.block(this.text.inlineStart(number, call));
    if (this.format === 'openai') this.output.comment(`running ${call.item.name}`);
  }

  private finish(told: StreamedCall, call: SeenCall): void {
    told.isDone = true;
    if (this.format === 'none') this.output.paragraph();
    if (this.format === 'inline') this.output.block(this.text.inlineDone(this.numberOf(told), call));
    if (this.format === 'open-webui') this.output.block(this.text.openWebUi(call));
  }

  private numberOf(told: StreamedCall): number {
    told.number ??= ++this.count;
    return told.number;
  }
}
