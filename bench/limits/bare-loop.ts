import { type LoopInput, type LoopStep, runCalls, toolLoop } from '#chat';
import { createModelAgent, createOpenAiModel } from '#models';
import { newId, systemClock } from '#platform';
import { executeToolCall, resolveOffered, type ToolOutcome, ToolRegistry } from '#tools';

import { BUILTIN_TOOLS } from '../../libs/tools/src/builtin/builtin-tools.js';

/** Where a loop of the limits keeps its rounds. `L0` keeps nothing. */
export interface LoopStore {
  /** Resolves when `text` is kept. */
  write(jobId: string, text: string): Promise<void>;
}

/** When the first text came and when the job ended, ms after its start. */
export interface LoopTimes {
  readonly firstDeltaMs: number;
  readonly totalMs: number;
}

/** The tool loop with the real model client and the real tool, without jobs, log, queue or viewers: what is left is the limit. */
export class BareLoop {
  private readonly agent = createModelAgent();
  private readonly registry = new ToolRegistry();

  constructor(
    private readonly modelUrl: string,
    private readonly store: LoopStore | null,
  ) {
    for (const tool of BUILTIN_TOOLS) this.registry.register(tool);
  }

  /** One job: message, tool call, answer. Throws when it does not end well. */
  async run(): Promise<LoopTimes> {
    const jobId = newId();
    const startedAt = performance.now();
    let firstDeltaMs = 0;
    await this.store?.write(jobId, 'started');
    const loop = toolLoop(this.input());
    for (let next = await loop.next(); ;) {
      if (next.done === true) {
        if (next.value.type !== 'finished') throw new Error(`the bare loop ended with ${next.value.type}`);
        return { firstDeltaMs, totalMs: performance.now() - startedAt };
      }
      const step = next.value;
      if (step.type === 'text' && firstDeltaMs === 0) firstDeltaMs = performance.now() - startedAt;
      if (step.type === 'round-finished') await this.store?.write(jobId, JSON.stringify(step));
      next = await loop.next(step.type === 'run-calls' ? await this.runCalls(jobId, step) : undefined);
    }
  }

  async close(): Promise<void> {
    await this.agent.close();
  }

  private input(): LoopInput {
    const definition = this.registry.definitionOf('calculate');
    return {
      model: createOpenAiModel(
        { baseUrl: this.modelUrl, apiKey: null },
        { clock: systemClock, dispatcher: this.agent },
      ),
      modelName: 'scripted',
      messages: [{ role: 'user', content: 'What is 6 * 7? Tell me a long story about it.' }],
      rounds: [],
      offered: resolveOffered(definition === undefined ? [] : [definition], this.registry),
      limits: { maxRounds: 10, maxToolCallsPerRound: 20, maxOutputBytes: 4_194_304, maxRestartsPerRound: 2 },
      signal: new AbortController().signal,
    };
  }

  private async runCalls(jobId: string, { calls }: Extract<LoopStep, { type: 'run-calls' }>) {
    const outcomes = await runCalls(calls, {
      concurrency: 20,
      start: () => Promise.resolve('started' as const),
      execute: (call) => this.execute(jobId, call),
      settled: () => Promise.resolve(),
    });
    return {
      results: calls.flatMap(({ ordinal }, i) => {
        const outcome = outcomes[i];
        return outcome == null ? [] : [{ ordinal, status: outcome.status, text: outcome.modelText }];
      }),
    };
  }

  private execute(jobId: string, call: { name: string; callId: string; arguments: string }): Promise<ToolOutcome> {
    const tool = this.registry.find(call.name);
    if (tool === undefined) throw new Error(`the model asked for ${call.name}`);
    return executeToolCall({
      tool,
      arguments: call.arguments,
      context: {
        workspaceId: jobId,
        jobId,
        threadId: null,
        principal: 'system',
        callId: call.callId,
        idempotencyKey: jobId,
        epoch: 1,
        signal: new AbortController().signal,
        now: () => Date.now(),
        progress: () => undefined,
      },
      defaultTimeoutMs: 10_000,
      clock: systemClock,
    });
  }
}
