import { type BenchChild, startChild } from './child-process.js';

/** The scripted model in a process of its own. Every conversation: one call of `calculate`, then the text. */
export type ModelProcess = BenchChild<{ readonly url: string }>;

/** One piece of the answer. */
export const CHUNK_TEXT = ' lorem';

/** `delayMs` passes before each of `chunks` pieces of the answer. */
export function startModel(script: { readonly chunks: number; readonly delayMs: number }): Promise<ModelProcess> {
  const main = new URL('../../test/harness/scripted-model.main.js', import.meta.url);
  return startChild(main, [`--chunks=${script.chunks}`, `--delay-ms=${script.delayMs}`, `--chunk-text=${CHUNK_TEXT}`]);
}
