import type { JsonObject } from './resource.js';

/** The resource on the server, the one in the file (both with defaults), and the function that saves it. */
export interface Comparison {
  /** Null: the server does not have it. */
  readonly current: JsonObject | null;
  readonly desired: JsonObject;
  readonly save: () => Promise<void>;
}
