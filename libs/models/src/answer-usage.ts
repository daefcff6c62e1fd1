import type { ModelUsage } from './model.js';

/** Rough, and marked as such: about four characters of English a token. */
const CHARACTERS_PER_TOKEN = 4;

/** The provider's usage if it can be believed: whole numbers >= 0 that are not all zero. */
export function toModelUsage(value: unknown): ModelUsage | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { prompt_tokens, completion_tokens, total_tokens } = value as Record<string, unknown>; // checked member by member below
  const promptTokens = toCount(prompt_tokens);
  const completionTokens = toCount(completion_tokens);
  if (promptTokens === undefined || completionTokens === undefined || promptTokens + completionTokens === 0)
    return undefined;
  const totalTokens = Math.max(toCount(total_tokens) ?? 0, promptTokens + completionTokens);
  return { promptTokens, completionTokens, totalTokens, estimated: false };
}

/** Both lengths in characters. */
export function estimateUsage(promptLength: number, completionLength: number): ModelUsage {
  const promptTokens = Math.ceil(promptLength / CHARACTERS_PER_TOKEN);
  const completionTokens = Math.ceil(completionLength / CHARACTERS_PER_TOKEN);
  return { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens, estimated: true };
}

/** Postgres keeps them as 32 bit integers; larger ones are nonsense. */
function toCount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 1_000_000_000
    ? value
    : undefined;
}
