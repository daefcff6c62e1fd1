import type { FeedItem, FollowOptions } from '#jobs';
import type { WorkflowState } from '#workflows';

/** The state of a workflow, changed since a viewer saw it last. `after`: the last event number that the viewer has been given. */
export interface StateItem {
  readonly type: 'workflow-state';
  readonly state: WorkflowState;
  readonly after: number;
}

type SnapshotItem = Extract<FeedItem, { type: 'snapshot' }>;

/** What a viewer is given: what the feed gives, snapshots of workflows with their state, and states in between. */
export type ViewedItem =
  Exclude<FeedItem, SnapshotItem> | (SnapshotItem & { readonly state?: WorkflowState }) | StateItem;

/** Where a viewer takes it from; as `EventFeed.follow` otherwise. */
export interface JobFeed {
  follow(options: FollowOptions): AsyncGenerator<ViewedItem, void, undefined>;
}
