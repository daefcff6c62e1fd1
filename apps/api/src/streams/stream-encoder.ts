import type { ViewedItem } from './viewed-item.js';

/** A piece of a stream, ready to be written. */
export interface EncodedItem {
  readonly text: string;
  /** The last event number that the reader has once `text` has arrived. */
  readonly after: number;
  /** The next items cannot be derived from events alone: begin again with a snapshot. */
  readonly needsSnapshot: boolean;
}

/** Turns what a feed gives into the text of one viewer's stream. One for each viewer; pure but for what it remembers. */
export interface StreamEncoder {
  encode(item: ViewedItem): EncodedItem;
}
