import type { FeedItem, FollowOptions } from '#jobs';
import type { WorkflowState } from '#workflows';

/** A changed state of a workflow. `after`: the number of the last event that the viewer got. */
export interface StateItem {
  readonly type: 'workflow-state';
  readonly state: WorkflowState;
  readonly after: number;
}

type SnapshotItem = Extract<FeedItem, { type: 'snapshot' }>;

/** An item for a viewer: an item of the feed, a snapshot of a workflow with its state, or a state between events. */
export type ViewedItem =
  Exclude<FeedItem, SnapshotItem> | (SnapshotItem & { readonly state?: WorkflowState }) | StateItem;

/** The source of a viewer's items, with the same contract as `EventFeed.follow`. */
export interface JobFeed {
  follow(options: FollowOptions): AsyncGenerator<ViewedItem, void, undefined>;
}
