import { type BenchChild, startChild } from './child-process.js';

/** The scripted model in a process of its own. Every conversation: one call of `calculate`, unless it has none, then the text. */
export type ModelProcess = BenchChild<{ readonly url: string }>;

/** One piece of the answer. */
export const CHUNK_TEXT = ' lorem';

/** `delayMs` passes before each of `chunks` pieces of the answer. `tool`: `none`, it answers at once. */
export function startModel(script: {
  readonly chunks: number;
  readonly delayMs: number;
  readonly tool?: 'none' | 'calculate';
}): Promise<ModelProcess> {
  const main = new URL('../../test/harness/scripted-model.main.js', import.meta.url);
  const { chunks, delayMs, tool = 'calculate' } = script;
  const settings = [`--chunks=${chunks}`, `--delay-ms=${delayMs}`, `--chunk-text=${CHUNK_TEXT}`, `--tool=${tool}`];
  return startChild(main, settings);
}
