import type { AnswerEnd, AnswerFinish, AnswerPart, ClientToolCall } from './answer-part.js';
import { type AnswerHead, toWireCall, toWireUsage, type WireUsage } from './chunk-writer.js';

/** A complete response: a `chat.completion`. */
export interface Completion {
  readonly id: string;
  readonly object: 'chat.completion';
  readonly created: number;
  readonly model: string;
  readonly choices: readonly [
    {
      readonly index: 0;
      readonly message: {
        readonly role: 'assistant';
        /** Null: the response has calls and no text. */
        readonly content: string | null;
        readonly refusal: null;
        readonly tool_calls?: readonly ReturnType<typeof toWireCall>[];
      };
      readonly logprobs: null;
      readonly finish_reason: AnswerFinish;
    },
  ];
  readonly usage: WireUsage;
}

/** Collects the parts of a response for a client that does not stream. */
export class CompletionBuilder {
  private readonly texts: string[] = [];
  private calls: readonly ClientToolCall[] = [];
  private end: AnswerEnd | undefined;

  add(part: AnswerPart): void {
    if (part.type === 'content') this.texts.push(part.text);
    else if (part.type === 'tool-calls') this.calls = part.calls;
    else if (part.type === 'end') this.end = part;
  }

  /** Call it after the end was added. Throws the `OpenAiError` of a failed response. */
  build({ id, created, model }: AnswerHead): { readonly completion: Completion; readonly usageEstimated: boolean } {
    const { end, calls } = this;
    if (end === undefined) throw new Error('the answer is not at its end');
    if (end.error !== null) throw end.error;
    const text = this.texts.join('');
    const message = {
      role: 'assistant',
      content: text === '' && calls.length > 0 ? null : text,
      refusal: null,
      ...(calls.length > 0 && { tool_calls: calls.map(toWireCall) }),
    } as const;
    const choice = { index: 0, message, logprobs: null, finish_reason: end.finishReason } as const;
    const { estimated } = end.usage;
    return {
      completion: { id, object: 'chat.completion', created, model, choices: [choice], usage: toWireUsage(end.usage) },
      usageEstimated: estimated,
    };
  }
}
