import type { GraphNodeOf } from '../definition/graph.js';

const longestAttempt = 500;

/** What a loop knows when it begins a pass. */
export interface LoopPass {
  /** From 1. */
  readonly iteration: number;
  /** What the loop was given, later what its body gave last. */
  readonly current: string;
  /** Of the passes so far. */
  readonly outputs: readonly string[];
}

/** What the body of a loop reads. */
export function bodyInput(data: GraphNodeOf<'whileLoop'>['data'], { iteration, current, outputs }: LoopPass): string {
  const parts: string[] = [];
  const instructions = data.loopPrompt.trim();
  if (instructions !== '') parts.push(`[Instructions: ${instructions}]`);
  if (data.includeIterationContext) parts.push(`[Iteration ${iteration} of ${data.maxIterations}]`);
  if (data.includePreviousOutputs && outputs.length > 0) {
    parts.push(`[Previous attempts (${outputs.length}):]`);
    parts.push(...outputs.map((output, index) => `Attempt ${index + 1}: ${shortened(output)}`));
    parts.push('[Current input to improve:]');
  }
  return [...parts, current].join('\n\n');
}

function shortened(text: string): string {
  if (text.length <= longestAttempt) return text;
  const cut = text.slice(0, longestAttempt);
  // Half of a surrogate pair is not a character.
  return `${cut.isWellFormed() ? cut : cut.slice(0, -1)}...[truncated]`;
}
