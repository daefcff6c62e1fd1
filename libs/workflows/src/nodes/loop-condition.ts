import type { GraphNodeOf } from '../definition/graph.js';
import type { NodePorts, Waiting } from '../engine/node-executor.js';
import type { DecideCommand } from '../engine/run-command.js';
import { refusal } from './to-node-error.js';

/** The state of a loop before a pass. */
export type LoopState = Pick<DecideCommand, 'iteration' | 'current' | 'outputs'>;

/** Decides whether a loop continues; named by `customEvaluator`. If it throws, the node fails. */
export type LoopEvaluator = (state: LoopState, signal: AbortSignal) => boolean | Promise<boolean>;

/** The question before a pass. */
export interface LoopQuestion {
  readonly node: GraphNodeOf<'whileLoop'>;
  readonly state: LoopState;
  readonly ports: Pick<NodePorts, 'converse'>;
  readonly signal: AbortSignal;
}

export type LoopAnswer = { readonly type: 'decided'; readonly continues: boolean } | Waiting;

/** Decides whether a loop in mode `condition` makes another pass: by its evaluator, else by its model. */
export class LoopCondition {
  constructor(private readonly evaluators: ReadonlyMap<string, LoopEvaluator> = new Map()) {}

  async decide(question: LoopQuestion): Promise<LoopAnswer> {
    const { customEvaluator } = question.node.data;
    return customEvaluator === undefined || customEvaluator === ''
      ? askModel(question)
      : { type: 'decided', continues: await this.evaluate(customEvaluator, question) };
  }

  private async evaluate(name: string, { state, signal }: LoopQuestion): Promise<boolean> {
    const evaluator = this.evaluators.get(name);
    if (evaluator === undefined) throw refusal(`Loop evaluator not registered: ${name}`);
    try {
      return await evaluator(state, signal);
    } catch (error) {
      signal.throwIfAborted();
      throw refusal(`Loop evaluator "${name}" failed: ${error instanceof Error ? error.message : 'unknown reason'}`);
    }
  }
}

/** Definitions count the finished iterations. */
async function askModel({ node, state, ports, signal }: LoopQuestion): Promise<LoopAnswer> {
  const { conditionPrompt, conditionModel } = node.data;
  const label = state.outputs.length === 0 ? 'Initial input:' : 'Last output:';
  const conversed = await ports.converse({
    branch: `condition@${state.iteration}`,
    isShown: false,
    model: conditionModel ?? null,
    messages: [
      { role: 'system', content: 'You control a loop. Answer only "continue" or "done".' },
      {
        role: 'user',
        content: `${conditionPrompt}\n\nCurrent iteration: ${state.outputs.length}\n${label} ${state.current}`,
      },
    ],
    tools: [],
    parameters: { temperature: 0, max_tokens: 10 },
    maxIterations: 1,
    signal,
  });
  if (conversed.type === 'waiting') return conversed;
  return { type: 'decided', continues: conversed.text.toLowerCase().includes('continue') };
}
