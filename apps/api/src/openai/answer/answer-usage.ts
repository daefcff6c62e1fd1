import type { JobSnapshot } from '#jobs';

import type { AnswerUsage } from './answer-part.js';

export const noUsage: AnswerUsage = { promptTokens: 0, completionTokens: 0, estimated: false };

export function sum(a: AnswerUsage, b: AnswerUsage): AnswerUsage {
  return {
    promptTokens: a.promptTokens + b.promptTokens,
    completionTokens: a.completionTokens + b.completionTokens,
    estimated: a.estimated || b.estimated,
  };
}

/** What a job has cost beside its rounds: the choice of its agent, which is none of them. */
export function rest(whole: AnswerUsage, rounds: JobSnapshot['rounds']): AnswerUsage {
  const used = rounds.reduce((total, { usage }) => sum(total, usage), noUsage);
  return {
    promptTokens: Math.max(0, whole.promptTokens - used.promptTokens),
    completionTokens: Math.max(0, whole.completionTokens - used.completionTokens),
    estimated: whole.estimated && !used.estimated,
  };
}
