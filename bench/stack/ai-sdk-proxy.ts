import { type BenchChild, startChild } from './child-process.js';

/** A proxy made with the AI SDK, in a process of its own. */
export function startAiSdkProxy(modelUrl: string): Promise<BenchChild<{ readonly url: string }>> {
  return startChild(new URL('ai-sdk-proxy.main.js', import.meta.url), [`--model-url=${modelUrl}`]);
}
