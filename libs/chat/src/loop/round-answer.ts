import type { FinishReason, ModelPart, ModelUsage, RequestedCall } from '#models';

/** What one batch of the model's stream added. */
export interface Addition {
  readonly text: string;
  readonly reasoning: string;
}

/** Collects one response of the model while it streams, and limits it to the bytes that the job has left. */
export class RoundAnswer {
  text = '';
  reasoning = '';
  calls: readonly RequestedCall[] = [];
  finish: { readonly finishReason: FinishReason; readonly usage: ModelUsage } | null = null;
  /** True once text was dropped. */
  isFull = false;

  constructor(private bytesLeft: number) {}

  /** Adds the parts of one read of the socket; drops text beyond the limit, at a character boundary. */
  take(batch: readonly ModelPart[]): Addition {
    let text = '';
    let reasoning = '';
    for (const part of batch) {
      if (part.type === 'text') text += part.text;
      else if (part.type === 'reasoning') reasoning += part.text;
      else if (part.type === 'tool-calls') this.calls = part.calls;
      else this.finish = part;
    }
    const addition = { reasoning: this.within(reasoning), text: this.within(text) };
    this.reasoning += addition.reasoning;
    this.text += addition.text;
    return addition;
  }

  private within(text: string): string {
    if (text === '') return text;
    const bytes = Buffer.byteLength(text);
    const kept = bytes <= this.bytesLeft ? text : cutTo(text, this.bytesLeft);
    this.isFull ||= kept !== text;
    this.bytesLeft -= Buffer.byteLength(kept);
    return kept;
  }
}

function cutTo(text: string, bytes: number): string {
  let left = bytes;
  let length = 0;
  for (const character of text) {
    left -= Buffer.byteLength(character);
    if (left < 0) break;
    length += character.length;
  }
  return text.slice(0, length);
}
