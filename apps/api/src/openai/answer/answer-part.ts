import type { OpenAiError } from '../../errors/openai-error.js';

/** How tool calls appear in an answer: as text, as blocks that Open WebUI renders, not at all, or handed to the client. */
export type AnswerFormat = 'inline' | 'open-webui' | 'none' | 'openai';

/** `finish_reason` as OpenAI clients know it. */
export type AnswerFinish = 'stop' | 'length' | 'tool_calls' | 'content_filter';

/** Tokens of the rounds of this answer. `estimated`: of one round at least the provider said nothing. */
export interface AnswerUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly estimated: boolean;
}

/** A call that the client is asked to run. `arguments`: JSON text as the model wrote it. */
export interface ClientToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** How an answer ends. `error`: it failed, and what has been said before is all there is. */
export interface AnswerEnd {
  readonly type: 'end';
  readonly finishReason: AnswerFinish;
  readonly usage: AnswerUsage;
  readonly error: OpenAiError | null;
}

/** What an answer consists of, in the order in which it is told. `content` is never empty and never half of a surrogate pair. */
export type AnswerPart =
  | { readonly type: 'content'; readonly text: string }
  /** Not part of the answer: what happens beside it. One line. */
  | { readonly type: 'comment'; readonly text: string }
  /** Comes at most once, right before the end. */
  | { readonly type: 'tool-calls'; readonly calls: readonly ClientToolCall[] }
  | AnswerEnd;
