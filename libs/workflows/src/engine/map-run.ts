import type { GraphNodeOf } from '../definition/graph.js';
import type { Container, LiveRun } from './live-run.js';
import { refusal } from './outcome.js';
import { Scope, type ScopeEnd, type ScopeOptions } from './scope.js';

/**
 * A `map`: runs its body once for each item of a list, a limited number at a time. Items do not see each other, and later nodes see only the list of
 * their outputs. The items are not stored; after a crash they are listed again.
 */
export class MapRun implements Container {
  readonly kept = null;
  private items: readonly string[] | null = null;
  private readonly results: string[] = [];
  private readonly passes = new Map<number, Scope>();
  private begun = 0;
  private done = 0;

  constructor(
    private readonly run: LiveRun,
    private readonly node: GraphNodeOf<'map'>,
    private readonly around: ScopeOptions,
  ) {}

  begin(): void {
    const { state } = this.around;
    if (!state.beginContainer(this.run)) return;
    if (this.entries.length === 0) state.fail(this.run, refusal('Map body is not connected'));
    else
      state.slots.enter(this.run, () => {
        state.emit({ type: 'list', run: this.run.row });
      });
  }

  *unfinished(): Generator<LiveRun> {
    for (const pass of this.passes.values()) yield* pass.unfinished();
  }

  listed(items: readonly string[]): void {
    if (this.items !== null || this.run.slot === 'none') return;
    this.around.state.slots.leave(this.run);
    this.items = items;
    const { extra } = this.run.row;
    if (extra.iterations !== items.length)
      this.around.state.change(this.run, { status: 'active', extra: { ...extra, iterations: items.length } });
    this.proceed(items);
  }

  private proceed(items: readonly string[]): void {
    while (this.passes.size < this.node.data.maxConcurrency && this.begun < items.length) this.beginItem(items);
    if (this.done === items.length) this.end();
  }

  private beginItem(items: readonly string[]): void {
    const at = this.begun;
    this.begun += 1;
    const pass = new Scope({
      ...this.around,
      level: this.node.id,
      owner: this.run,
      memory: this.around.memory.inside(),
      path: [...this.around.path, this.run.row.nodeId],
      iteration: [...this.around.iteration, at + 1],
      onEnd: (end) => {
        this.itemEnded(items, at, end);
      },
    });
    this.passes.set(at, pass);
    pass.enterBody(this.node.id, this.entries, items[at] ?? '');
  }

  private itemEnded(items: readonly string[], at: number, end: ScopeEnd): void {
    const pass = this.passes.get(at);
    this.passes.delete(at);
    if (end.type === 'failed' && this.node.data.onItemError === 'stop') {
      this.around.state.cancel(this.unfinished());
      this.around.state.fail(this.run, end.failure);
      return;
    }
    this.results[at] = end.type === 'failed' ? '' : (pass?.endings ?? '');
    this.done += 1;
    this.proceed(items);
  }

  private end(): void {
    this.around.state.complete(this.run, {
      output: JSON.stringify(this.results),
      handles: ['done'],
      handOn: 'output',
    });
  }

  private get entries() {
    return this.around.graph.bodies.get(this.node.id)?.entries ?? [];
  }
}
