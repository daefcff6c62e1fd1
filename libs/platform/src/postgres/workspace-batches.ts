import type { Clock } from '../clock.js';
import { GroupWriter, type GroupWriterOptions } from './group-writer.js';

/** Reads or writes a batch of one workspace; see `WriteBatch`. */
export type WorkspaceBatch<Item, Result> = (
  workspaceId: string,
  items: readonly Item[],
) => Promise<readonly (Result | Error)[]>;

/**
 * A `GroupWriter` per workspace, because row-level security binds a transaction to one workspace. Items of one workspace that arrive at the
 * same time form a batch; an idle workspace uses no memory.
 */
export class WorkspaceBatches<Item, Result> {
  private readonly writers = new Map<string, GroupWriter<Item, Result>>();

  constructor(
    private readonly run: WorkspaceBatch<Item, Result>,
    private readonly clock: Clock,
    private readonly options: GroupWriterOptions,
  ) {}

  /** The number of workspaces with pending items; zero when idle. */
  get size(): number {
    return this.writers.size;
  }

  submit(workspaceId: string, item: Item): Promise<Result> {
    const known = this.writers.get(workspaceId);
    if (known !== undefined) return known.submit(item);
    const writer = new GroupWriter<Item, Result>((items) => this.run(workspaceId, items), this.clock, this.options);
    this.writers.set(workspaceId, writer);
    const submitted = writer.submit(item);
    this.forgetWhenIdle(workspaceId, writer);
    return submitted;
  }

  private forgetWhenIdle(workspaceId: string, writer: GroupWriter<Item, Result>): void {
    void writer.drain().then(() => {
      if (writer.busy) this.forgetWhenIdle(workspaceId, writer);
      else this.writers.delete(workspaceId);
    });
  }
}
