import type { ViewedItem } from './viewed-item.js';

/** A part of a stream as text. */
export interface EncodedItem {
  readonly text: string;
  /** The number of the last event that the reader has after reading `text`. */
  readonly after: number;
  /** Whether the stream must restart with a snapshot, because the next items cannot be derived from events alone. */
  readonly needsSnapshot: boolean;
}

/** Encodes the items of a feed for one viewer. Each viewer has one encoder. It changes only its own state. */
export interface StreamEncoder {
  encode(item: ViewedItem): EncodedItem;
}
