import type { GraphNodeOf } from '../definition/graph.js';
import type { Container, LiveRun } from './live-run.js';
import { isFinished } from './node-run.js';
import { refusal } from './outcome.js';
import { Scope, type ScopeEnd, type ScopeOptions } from './scope.js';
import type { ScopeMemory } from './scope-memory.js';

const longestAttempt = 500;

/** The state of a loop at the start of an iteration. */
interface LoopPass {
  /** From 1. */
  readonly iteration: number;
  /** The input of the loop, then the output of the last iteration. */
  readonly current: string;
  /** The outputs of the earlier iterations. */
  readonly outputs: readonly string[];
}

/** The input of the body. */
function bodyInput(data: GraphNodeOf<'whileLoop'>['data'], { iteration, current, outputs }: LoopPass): string {
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
  // A cut must not leave half of a surrogate pair.
  return `${cut.isWellFormed() ? cut : cut.slice(0, -1)}...[truncated]`;
}

/** A `whileLoop`: repeats its body while the condition holds and the limit of iterations is not reached. */
export class LoopRun implements Container {
  readonly kept: ScopeMemory;
  private readonly outputs: string[] = [];
  private current: string;
  private pass: Scope | null = null;
  /** The iterations that began under an earlier lease: no new decision is needed for them. */
  private readonly begunBefore: number;
  private readonly hasEnded: boolean;

  constructor(
    private readonly run: LiveRun,
    private readonly node: GraphNodeOf<'whileLoop'>,
    private readonly around: ScopeOptions,
  ) {
    this.kept = around.memory.inside();
    this.current = run.row.input;
    this.begunBefore = run.row.extra.iterations ?? 0;
    this.hasEnded = isFinished(run.row.status);
  }

  begin(): void {
    if (!this.around.state.beginContainer(this.run)) return;
    if (this.entries.length === 0) this.around.state.fail(this.run, refusal('While loop body is not connected'));
    else this.startNextPass();
  }

  *unfinished(): Generator<LiveRun> {
    if (this.pass !== null) yield* this.pass.unfinished();
  }

  decided(iteration: number, continues: boolean): void {
    if (iteration !== this.outputs.length + 1 || this.run.slot === 'none') return;
    this.around.state.slots.leave(this.run);
    if (continues) this.beginPass();
    else this.end();
  }

  private startNextPass(): void {
    const { loopMode, maxIterations } = this.node.data;
    const done = this.outputs.length;
    if (done === maxIterations) this.endAtLimit();
    else if (loopMode === 'fixed' || done < this.begunBefore) this.beginPass();
    else if (this.hasEnded) this.end();
    else this.decide();
  }

  private decide(): void {
    const { state } = this.around;
    const { current, outputs } = this;
    state.slots.enter(this.run, () => {
      const iteration = outputs.length + 1;
      state.emit({ type: 'decide', run: this.run.row, iteration, current, outputs: [...outputs] });
    });
  }

  private beginPass(): void {
    const { state, graph, iteration, path } = this.around;
    const { data, id } = this.node;
    const number = this.outputs.length + 1;
    if (number > this.begunBefore) {
      state.change(this.run, { status: 'active', extra: { ...this.run.row.extra, iterations: number } });
      state.emit({ type: 'iterate', key: this.run.key, iteration: number, of: data.maxIterations });
    }
    this.pass = new Scope({
      ...this.around,
      graph,
      level: id,
      owner: this.run,
      memory: this.kept,
      path: [...path, this.run.row.nodeId],
      iteration: [...iteration, number],
      onEnd: this.passEnded,
    });
    const text = bodyInput(data, { iteration: number, current: this.current, outputs: this.outputs });
    this.pass.enterBody(id, this.entries, text);
  }

  private readonly passEnded = (end: ScopeEnd): void => {
    const output = this.pass?.endings ?? '';
    this.pass = null;
    if (end.type === 'failed') {
      this.around.state.fail(this.run, end.failure);
      return;
    }
    this.current = output;
    this.outputs.push(output);
    this.startNextPass();
  };

  private endAtLimit(): void {
    const { loopMode, maxIterations, onMaxIterations } = this.node.data;
    const text = `While loop reached max iterations (${maxIterations})`;
    if (loopMode === 'condition' && onMaxIterations === 'error') {
      this.around.state.fail(this.run, refusal(text));
      return;
    }
    if (loopMode === 'condition' && onMaxIterations === 'warning' && !this.hasEnded)
      this.around.state.emit({ type: 'warn', key: this.run.key, code: 'MAX_ITERATIONS', text });
    this.end();
  }

  private end(): void {
    const { outputs, current } = this;
    const accumulated = { iterations: outputs.length, outputs, finalOutput: current };
    this.around.state.complete(this.run, {
      output: this.node.data.outputMode === 'accumulate' ? JSON.stringify(accumulated) : current,
      handles: ['done'],
      handOn: 'output',
    });
  }

  private get entries() {
    return this.around.graph.bodies.get(this.node.id)?.entries ?? [];
  }
}
