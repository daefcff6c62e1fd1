import type { JobSnapshot } from '#jobs';

import type { OpenAiError } from '../../errors/openai-error.js';

export const noUsage: AnswerUsage = { promptTokens: 0, completionTokens: 0, estimated: false };

export function sum(a: AnswerUsage, b: AnswerUsage): AnswerUsage {
  return {
    promptTokens: a.promptTokens + b.promptTokens,
    completionTokens: a.completionTokens + b.completionTokens,
    estimated: a.estimated || b.estimated,
  };
}

/** The tokens of a job that belong to none of its rounds: those of the choice of its agent. */
export function rest(whole: AnswerUsage, rounds: JobSnapshot['rounds']): AnswerUsage {
  const used = rounds.reduce((total, { usage }) => sum(total, usage), noUsage);
  return {
    promptTokens: Math.max(0, whole.promptTokens - used.promptTokens),
    completionTokens: Math.max(0, whole.completionTokens - used.completionTokens),
    estimated: whole.estimated && !used.estimated,
  };
}

/** How tool calls appear in an answer: as text, as blocks that Open WebUI renders, not at all, or handed to the client. */
export type AnswerFormat = 'inline' | 'open-webui' | 'none' | 'openai';

/** The values of `finish_reason` that OpenAI clients know. */
export type AnswerFinish = 'stop' | 'length' | 'tool_calls' | 'content_filter';

/** Tokens of the rounds of this response. `estimated`: the provider reported no usage for at least one round. */
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

/** The end of a response. `error`: the response failed, and the parts before this one are all of its content. */
export interface AnswerEnd {
  readonly type: 'end';
  readonly finishReason: AnswerFinish;
  readonly usage: AnswerUsage;
  readonly error: OpenAiError | null;
}

/** The parts of a response, in the order of sending. `content` is never empty and never half of a surrogate pair. */
export type AnswerPart =
  | { readonly type: 'content'; readonly text: string }
  /** A comment beside the content, on one line. */
  | { readonly type: 'comment'; readonly text: string }
  /** Sent at most once, right before the end. */
  | { readonly type: 'tool-calls'; readonly calls: readonly ClientToolCall[] }
  | AnswerEnd;
